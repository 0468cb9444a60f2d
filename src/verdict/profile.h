// What one capture ran, small enough to keep for all captures at once: the first of two passes over them. The second
// (block_summary.h) needs to know what all captures have in common.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "model/capture.h"

namespace kvet::verdict {

// A kernel as compared between captures: raw name and code hash (0: unknown).
struct KernelKey {
  std::string name;
  uint64_t code_hash = 0;
  friend auto operator<=>(const KernelKey&, const KernelKey&) = default;
};
// A stream within one capture: process, context, stream.
using StreamKey = std::tuple<uint32_t, uint32_t, uint32_t>;

struct KernelActivity {
  uint64_t executions = 0;  // in the window
  uint64_t outside = 0;     // before or after it
  double time_ns = 0;       // in the window, sum of durations
  double graph_time_ns = 0;  // the part of it launched through graphs
  std::set<StreamKey> streams;
};
// NVTX ranges of one name (digits collapsed) that begin in the window.
struct RangeActivity {
  uint64_t count = 0;
  double time_ns = 0;  // of all together
  std::set<std::string> kernels;  // names launched inside
};

struct CaptureProfile {
  std::string path;
  std::map<KernelKey, KernelActivity> kernels;
  std::map<std::string, RangeActivity> ranges;
  double kernel_time_ns = 0;
};

CaptureProfile profile_of(const Capture& capture);

// "step 17" and "step 18" are one name: "step #".
std::string collapsed_range_name(std::string_view name);

}  // namespace kvet::verdict
