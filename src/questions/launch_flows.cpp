#include "questions/launch_flows.h"

#include <algorithm>
#include <limits>

#include "questions/streams.h"

namespace kvet::questions {

LaunchFlows::LaunchFlows(const Capture& capture) : executions_(capture.executions.size()) {
  std::vector<std::pair<uint64_t, uint32_t>> calls;  // correlation key, call
  for (uint32_t index = 0; index < capture.api_calls.size(); ++index) {
    const ApiCall& call = capture.api_calls[index];
    if (call.correlation_id != 0 && call.kind != ApiKind::wait_for_queue) {
      calls.emplace_back(correlation_key(call.process, call.correlation_id), index);
    }
  }
  std::ranges::sort(calls);

  joined_.resize(capture.executions.size() + capture.transfers.size());
  std::vector<std::pair<uint32_t, uint64_t>> joins;  // call, flow
  auto join = [&](ProcessId process, uint32_t correlation_id, size_t work) {
    const uint64_t key = correlation_key(process, correlation_id);
    const auto call = std::ranges::lower_bound(calls, std::pair{key, uint32_t{0}});
    if (correlation_id != 0 && call != calls.end() && call->first == key) {
      joined_[work] = true;
      joins.emplace_back(call->second, work + 1);
    }
  };
  for (size_t index = 0; index < capture.executions.size(); ++index) {
    join(capture.executions[index].process, capture.executions[index].correlation_id, index);
  }
  for (size_t index = 0; index < capture.transfers.size(); ++index) {
    join(capture.transfers[index].process, capture.transfers[index].correlation_id, executions_ + index);
  }
  std::ranges::sort(joins);
  flows_.reserve(joins.size());
  for (const auto& [call, flow] : joins) {
    if (first_.empty() || first_.back().first != call) {
      first_.emplace_back(call, flows_.size());
    }
    flows_.push_back(flow);
  }
  first_.emplace_back(std::numeric_limits<uint32_t>::max(), flows_.size());
}

std::span<const uint64_t> LaunchFlows::from_call(uint32_t call) const {
  const auto found = std::ranges::lower_bound(first_, call, {}, &std::pair<uint32_t, size_t>::first);
  if (found == first_.end() || found->first != call || found + 1 == first_.end()) {
    return {};
  }
  return std::span{flows_}.subspan(found->second, (found + 1)->second - found->second);
}

}  // namespace kvet::questions
