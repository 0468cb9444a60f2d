// The counters that the stand-in's performance monitor knows, by NVIDIA's names for GH100, all in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/engine.h"

namespace simcuda::cupti {

// The number of a metric; −1: no such thing.
int find_metric(std::string_view name);
// What it reads for the sums over an interval of that length.
double evaluate_metric(int metric, const Totals& totals, double length_ns);

}  // namespace simcuda::cupti
