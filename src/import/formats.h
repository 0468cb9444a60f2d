// One function per format; import.cpp chooses. Each reads all files of one import: only their format knows how its files
// belong together (ranks, clocks).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/event_sink.h"

namespace kvet::importing {

Result<void> import_kineto(const std::vector<std::string>& paths, EventSink& sink);
Result<void> import_nsys(const std::vector<std::string>& paths, EventSink& sink);

}  // namespace kvet::importing
