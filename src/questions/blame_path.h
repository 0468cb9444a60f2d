// What a rank did from one collective to the next, along its critical path: back from the collective's start along its stream, to
// whatever made each piece of work late.
//
// A kernel waits for the work before it in its stream, for its launch, or for work in another stream. Waits for events are not
// recorded, so the last is inferred: the work of another stream that was launched earlier and ended just before. A launch that came
// late waits for its thread; where that thread had been waiting for the device, the path goes on with the work that released it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/capture.h"
#include "questions/spans.h"

namespace kvet::questions {

// What a moment on the path was spent on.
struct PathItem {
  enum class Kind : uint8_t {
    kernel,
    beside_collective,  // a kernel, while a collective spun or moved data on its device: slower for that
    collective,  // another one, its waiting included
    copy,
    host,  // the dispatching thread: late launches, and waking up from a wait
    start_delay,  // between the last reason to wait and the start
    unknown,  // before anything recorded
  };
  Kind kind = Kind::unknown;
  StringId name;  // of a kernel
  auto operator<=>(const PathItem&) const = default;
};
using PathTimes = std::map<PathItem, double>;  // ns; adds up to the time that was walked

// The work of one device of one process.
class RankWork {
 public:
  // What belongs to the rank, as indices into the capture's vectors.
  struct Rows {
    std::vector<uint32_t> executions, transfers, calls;  // calls: of its process
    SpanSet collectives;  // on its device, of anybody
  };
  RankWork(const Capture& capture, const std::vector<bool>& shape_is_nccl, Rows rows);

  // The path from `from_ns` to the start of an execution, both in this rank's own time.
  [[nodiscard]] PathTimes path(uint32_t execution, int64_t from_ns) const;
  // From the last thing that it waited for (work before it, its launch) to its start. Empty: nothing was seen before it.
  [[nodiscard]] std::optional<int64_t> start_delay(uint32_t execution) const;
  // When its launch was called; empty: not recorded.
  [[nodiscard]] std::optional<int64_t> launched_at(uint32_t execution) const;
  // Whether a collective ran beside it on its device, for long enough to slow it.
  [[nodiscard]] bool beside_collective(const Execution& execution) const;
  [[nodiscard]] const std::vector<uint32_t>& executions() const { return rows_.executions; }

 private:
  struct Work {
    int64_t start_ns, end_ns;
    uint64_t stream;
    uint32_t correlation;
    PathItem item;
  };
  // Why a piece of work began when it did.
  struct Cause {
    enum class What : uint8_t { work, host, nothing } what = What::nothing;
    uint32_t work = 0;  // position
    int64_t at_ns = 0;  // since when nothing but the start delay was missing
    int64_t ready_ns = 0;  // before that: since when only its launch was missing
    const ApiCall* call = nullptr;  // host: the late launch
  };
  void index_calls();
  [[nodiscard]] const ApiCall* launch_of(uint32_t correlation) const;
  [[nodiscard]] Cause cause_of(uint32_t position) const;
  [[nodiscard]] std::optional<uint32_t> before_in_stream(uint32_t position) const;
  [[nodiscard]] std::optional<uint32_t> overlapping_predecessor(uint32_t position) const;
  [[nodiscard]] std::optional<uint32_t> other_stream(uint32_t position, int64_t after_ns, const ApiCall* call) const;
  [[nodiscard]] std::optional<std::pair<int64_t, uint32_t>> released_by(const ApiCall& call, int64_t from_ns,
                                                                        uint32_t below) const;

  const Capture& capture_;
  Rows rows_;
  std::vector<Work> works_;  // by end, then start
  std::unordered_map<uint64_t, std::vector<uint32_t>> streams_;  // positions in works_
  std::unordered_map<uint32_t, uint32_t> positions_;  // of collectives, by index into Capture::executions
  std::unordered_map<uint32_t, const ApiCall*> launches_;  // by correlation
  std::map<int32_t, std::vector<const ApiCall*>> waits_;  // synchronising calls of each thread, by end
};

// One for each of these ranks (a process and a device).
[[nodiscard]] std::vector<RankWork> work_of_ranks(const Capture& capture, const std::vector<bool>& shape_is_nccl,
                                                  const std::vector<std::pair<ProcessId, DeviceId>>& ranks);

}  // namespace kvet::questions
