// Streams: what came before a piece of work, and which host call asked for it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/capture.h"
#include "questions/questions.h"

namespace kvet::questions {

// A stream of a context of a process, folded into one number. Two streams share a number only in captures with more than
// 65,536 processes or contexts.
[[nodiscard]] constexpr uint64_t stream_key(ProcessId process, uint32_t context_id, uint32_t stream_id) {
  return uint64_t{process.value & 0xffffu} << 48 | uint64_t{context_id & 0xffffu} << 32 | stream_id;
}
// Correlation ids are unique within a process.
[[nodiscard]] constexpr uint64_t correlation_key(ProcessId process, uint32_t correlation_id) {
  return uint64_t{process.value} << 32 | correlation_id;
}

// One host call that had executions of K: a kernel launch, or a graph launch whose graph holds K.
struct Launch {
  std::optional<uint32_t> call;  // index into Capture::api_calls; empty: the call was not recorded
  bool graph = false;
  // Of the first work that the call started (in a graph that need not be K):
  int64_t first_start_ns = 0;
  DeviceId device;
  uint64_t stream = 0;
  // Latest end of earlier work (kernels, copies, memsets) in the same stream. Empty: nothing was seen before it.
  std::optional<int64_t> ready_ns;
  uint32_t executions = 0;  // of K
};

struct Launches {
  std::vector<Launch> launches;  // in the order of first_start_ns
  uint64_t executions = 0;  // of K, all
  uint64_t without_correlation = 0;  // of these: cannot be joined to any call
  // How many streams did anything at all, by process: with a single one, no event of another stream can hold it up.
  std::unordered_map<uint32_t, uint32_t> streams_of_process;
};

// Launches of K and what their streams did before. One pass over the capture, and a hash look-up per piece of work.
[[nodiscard]] Launches launches_of(const Capture& capture, const KernelSet& kernels);

[[nodiscard]] constexpr bool is_launch(ApiKind kind) {
  return kind == ApiKind::launch_kernel || kind == ApiKind::launch_cooperative || kind == ApiKind::launch_graph;
}
[[nodiscard]] constexpr bool is_synchronisation(ApiKind kind) {
  return kind == ApiKind::synchronize_stream || kind == ApiKind::synchronize_context ||
         kind == ApiKind::synchronize_event || kind == ApiKind::synchronize_copy;
}

}  // namespace kvet::questions
