// Which launches happened under stream capture and executed nothing.
//
// A record of a launch does not say so. Captures are known from the calls that begin and end them, but records come late
// and out of order, and a thread that captures one stream can launch into another. So a launch waits here for two seconds
// of the process's own time; if a capture was then open when it was called and no execution carries its correlation id, it
// stays until the end or until its execution turns up after all. What remains executed nothing: it was captured.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

#include "model/events.h"

namespace kvet::probes {

class CapturedLaunches {
 public:
  using Emit = std::function<void(const ApiCall&)>;

  void capture_began(int64_t time_ns);
  void capture_ended(int64_t time_ns);
  void launched(const ApiCall& call, const Emit& emit);
  void executed(uint32_t correlation_id, const Emit& emit);
  void finish(const Emit& emit);

  // Beginnings and ends of captures that are remembered. The target says how many there are, and it may lie.
  static constexpr size_t edge_limit = 1u << 16;  // in the two seconds that a launch waits: 32,768 captures
  [[nodiscard]] size_t edges() const { return begins_.size() + ends_.size(); }

 private:
  static constexpr int64_t delay_ns = 2'000'000'000;
  static constexpr size_t waiting_limit = 1u << 18;  // 20 MB a process
  static constexpr size_t candidate_limit = 1u << 18;  // launches of one capture are thousands
  static constexpr uint32_t window = 1u << 22;  // correlation ids remembered, one bit each: 512 KiB

  void add_edge(std::vector<int64_t>& times, int64_t time_ns, int change);
  void release(bool all, const Emit& emit);
  [[nodiscard]] bool capturing(int64_t time_ns) const;
  [[nodiscard]] bool was_executed(uint32_t correlation_id) const;

  std::deque<ApiCall> waiting_;
  std::unordered_map<uint32_t, ApiCall> candidates_;  // by correlation id
  std::vector<int64_t> begins_, ends_;  // sorted
  // Of what is older than this only the difference is kept: begun less ended.
  int64_t forgotten_until_ns_ = std::numeric_limits<int64_t>::min();
  int64_t open_before_ = 0;
  std::vector<uint64_t> executed_bits_;
  uint32_t newest_correlation_ = 0;
  int64_t newest_ns_ = 0;
};

}  // namespace kvet::probes
