// Which host call started which work of a device, as numbered flows for viewers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/capture.h"

namespace kvet::questions {

// Joined by process and correlation id; a graph launch has a flow to each of its nodes. Work whose call was not recorded has
// none. Of two calls with the same ids (only a broken file has them) the earlier counts. 33 bytes per call and piece of work.
class LaunchFlows {
 public:
  explicit LaunchFlows(const Capture& capture);

  // By index into Capture::api_calls, executions, transfers. Ids count from 1.
  [[nodiscard]] std::span<const uint64_t> from_call(uint32_t call) const;
  [[nodiscard]] std::optional<uint64_t> to_execution(size_t index) const { return to(index); }
  [[nodiscard]] std::optional<uint64_t> to_transfer(size_t index) const { return to(executions_ + index); }

 private:
  [[nodiscard]] std::optional<uint64_t> to(size_t work) const {
    return joined_[work] ? std::optional<uint64_t>{work + 1} : std::nullopt;
  }
  size_t executions_;
  std::vector<bool> joined_;  // by work: executions, then transfers
  std::vector<std::pair<uint32_t, size_t>> first_;  // call, its first place in flows_; by call, and one more at the end
  std::vector<uint64_t> flows_;
};

}  // namespace kvet::questions
