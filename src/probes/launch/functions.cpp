// Names exported by libcuda, from cuda.h of CUDA 11 to 13: a _ptsz twin serves code that is compiled with per-thread
// default streams. What a library does not export is left out when it is attached.
#include "probes/launch/functions.h"

#include <algorithm>
#include <vector>

#include "abi/records.h"
#include "probes/launch/launch.h"

namespace kvet::probes {

namespace {

struct Entry {
  const char* symbol;
  kvet_launch_function function;
  kvet_api_kind kind;
  bool per_thread;
};

constexpr auto no_kind = static_cast<kvet_api_kind>(0);

constexpr Entry entries[] = {
    {"cuLaunchKernel", KVET_FUNCTION_LAUNCH_KERNEL, KVET_API_LAUNCH_KERNEL, false},
    {"cuLaunchKernel_ptsz", KVET_FUNCTION_LAUNCH_KERNEL, KVET_API_LAUNCH_KERNEL, true},
    {"cuLaunchKernelEx", KVET_FUNCTION_LAUNCH_KERNEL_EX, KVET_API_LAUNCH_KERNEL, false},
    {"cuLaunchKernelEx_ptsz", KVET_FUNCTION_LAUNCH_KERNEL_EX, KVET_API_LAUNCH_KERNEL, true},
    {"cuLaunchCooperativeKernel", KVET_FUNCTION_LAUNCH_KERNEL, KVET_API_LAUNCH_COOPERATIVE, false},
    {"cuLaunchCooperativeKernel_ptsz", KVET_FUNCTION_LAUNCH_KERNEL, KVET_API_LAUNCH_COOPERATIVE, true},
    {"cuLaunchCooperativeKernelMultiDevice", KVET_FUNCTION_LAUNCH_MULTI_DEVICE, KVET_API_LAUNCH_COOPERATIVE, false},
    {"cuGraphLaunch", KVET_FUNCTION_LAUNCH_GRAPH, KVET_API_LAUNCH_GRAPH, false},
    {"cuGraphLaunch_ptsz", KVET_FUNCTION_LAUNCH_GRAPH, KVET_API_LAUNCH_GRAPH, true},
    {"cuLaunchHostFunc", KVET_FUNCTION_LAUNCH_HOST_FUNCTION, KVET_API_LAUNCH_HOST_FUNCTION, false},
    {"cuLaunchHostFunc_ptsz", KVET_FUNCTION_LAUNCH_HOST_FUNCTION, KVET_API_LAUNCH_HOST_FUNCTION, true},
    {"cuStreamBeginCapture", KVET_FUNCTION_CAPTURE_BEGIN, no_kind, false},
    {"cuStreamBeginCapture_ptsz", KVET_FUNCTION_CAPTURE_BEGIN, no_kind, true},
    {"cuStreamBeginCapture_v2", KVET_FUNCTION_CAPTURE_BEGIN, no_kind, false},
    {"cuStreamBeginCapture_v2_ptsz", KVET_FUNCTION_CAPTURE_BEGIN, no_kind, true},
    {"cuStreamBeginCaptureToGraph", KVET_FUNCTION_CAPTURE_BEGIN, no_kind, false},
    {"cuStreamBeginCaptureToGraph_ptsz", KVET_FUNCTION_CAPTURE_BEGIN, no_kind, true},
    {"cuStreamEndCapture", KVET_FUNCTION_CAPTURE_END, no_kind, false},
    {"cuStreamEndCapture_ptsz", KVET_FUNCTION_CAPTURE_END, no_kind, true},
    {"cuEventRecord", KVET_FUNCTION_EVENT_RECORD, no_kind, false},
    {"cuEventRecord_ptsz", KVET_FUNCTION_EVENT_RECORD, no_kind, true},
    {"cuEventRecordWithFlags", KVET_FUNCTION_EVENT_RECORD, no_kind, false},
    {"cuEventRecordWithFlags_ptsz", KVET_FUNCTION_EVENT_RECORD, no_kind, true},
    {"cuStreamWaitEvent", KVET_FUNCTION_STREAM_WAIT_EVENT, no_kind, false},
    {"cuStreamWaitEvent_ptsz", KVET_FUNCTION_STREAM_WAIT_EVENT, no_kind, true},
};

std::vector<ProbedFunction> make(bool count_only) {
  std::vector<ProbedFunction> functions;
  for (const Entry& entry : entries) {
    const bool capture = entry.function == KVET_FUNCTION_CAPTURE_BEGIN || entry.function == KVET_FUNCTION_CAPTURE_END;
    const bool launch = entry.function <= KVET_FUNCTION_LAUNCH_HOST_FUNCTION;
    uint64_t cookie =
        static_cast<uint64_t>(entry.function) | (static_cast<uint64_t>(entry.kind) << KVET_LAUNCH_COOKIE_KIND_SHIFT);
    if (entry.per_thread) {
      cookie |= KVET_LAUNCH_COOKIE_PER_THREAD;
    }
    functions.push_back({entry.symbol, cookie, capture || (launch && !count_only)});
  }
  return functions;
}

}  // namespace

std::span<const ProbedFunction> launch_returns() {
  static const std::vector<ProbedFunction> returns = [] {
    std::vector<ProbedFunction> all = make(false);
    const std::vector<ProbedFunction> counts = make(true);
    std::erase_if(all, [&](const ProbedFunction& function) {
      const auto same = std::ranges::find(counts, function.cookie, &ProbedFunction::cookie);
      return !function.at_return || same->at_return;
    });
    return all;
  }();
  return returns;
}

std::span<const ProbedFunction> launch_functions(bool count_only) {
  static const std::vector<ProbedFunction> events = make(false);
  static const std::vector<ProbedFunction> counts = make(true);
  return count_only ? counts : events;
}

}  // namespace kvet::probes
