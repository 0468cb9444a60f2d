#include "questions/residency_flows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvet::questions {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
// Counts of one sample may be booked in the next one where the counter's unit is read a moment later.
constexpr double tolerance_blocks = 2;
// A whole wave is launched or completed within a microsecond, so that an execution on the wrong side of an edge is a large
// error: five microseconds are the 95th percentile of the clocks' residual.
constexpr int64_t extra_guard_ns = 5'000;
constexpr size_t most_active = 128;  // hardware runs no more kernels at once

}  // namespace

FlowBounds::FlowBounds(const std::vector<const Execution*>& executions, ShapeVectors& vectors, int64_t guard_ns)
    : executions_(executions), vectors_(vectors), guard_ns_(2 * guard_ns + extra_guard_ns) {}

void FlowBounds::restart() {
  next_ = 0;
  counted_ = false;
  busy_until_ns_ = std::numeric_limits<int64_t>::min() / 2;
  active_.clear();
}

// Executions that ended well before `time` have done all of their work.
void FlowBounds::leave(int64_t time) {
  std::erase_if(active_, [&](const Active& active) {
    const bool gone = active.execution->end_ns + guard_ns_ <= time;
    if (gone) {
      completed_ -= active.grid;
      launched_ -= active.grid * active.warps;
    }
    return gone;
  });
}

void FlowBounds::advance(const Sample& sample) {
  const bool gap = sample.start_ns - last_end_ns_ > (sample.end_ns - sample.start_ns) / 100 + 1;
  last_end_ns_ = sample.end_ns;
  leave(sample.start_ns);
  if (busy_until_ns_ + guard_ns_ <= sample.start_ns &&
      (next_ == executions_.size() || executions_[next_]->start_ns >= sample.start_ns + guard_ns_)) {
    counted_ = true;
    completed_ = launched_ = 0;
  } else if (gap) {
    counted_ = false;
  }
  for (; next_ < executions_.size() && executions_[next_]->start_ns < sample.end_ns + guard_ns_; ++next_) {
    busy_until_ns_ = std::max(busy_until_ns_, executions_[next_]->end_ns);
    const ShapeVector& vector = vectors_.of(executions_[next_]->shape);
    const bool known = vector.known && std::isfinite(vector.blocks);
    counted_ = counted_ && known;
    if (counted_ && active_.size() < most_active) {
      active_.push_back({executions_[next_], vector.blocks, vector.warps_per_block, 0, 0, {0, infinite}});
    } else {
      counted_ = false;
    }
  }
  if (!counted_ || !sample.warps_launched || !sample.blocks_completed) {
    counted_ = false;
    active_.clear();
    return;
  }
  auto sum_up = [&](int64_t time) {
    begun_blocks_ = begun_warps_ = ended_blocks_ = ended_warps_ = 0;
    for (const Active& each : active_) {
      if (each.execution->start_ns < time + guard_ns_) {
        begun_blocks_ += each.grid;
        begun_warps_ += each.grid * each.warps;
      }
      if (each.execution->end_ns + guard_ns_ <= time) {
        ended_blocks_ += each.grid;
        ended_warps_ += each.grid * each.warps;
      }
    }
  };
  auto edge = [&](const Active& each, int64_t time) {
    const bool begun = each.execution->start_ns < time + guard_ns_;
    if (!begun) {
      return Edge{0, 0, 0, 0};
    }
    if (each.execution->end_ns + guard_ns_ <= time) {
      return Edge{each.grid, each.grid, each.grid, each.grid};
    }
    Edge result;
    const double other_blocks = begun_blocks_ - each.grid, other_warps = begun_warps_ - each.grid * each.warps;
    result.least_completed = std::clamp(completed_ - other_blocks - tolerance_blocks, 0.0, each.grid);
    result.most_completed = std::clamp(completed_ - ended_blocks_ + tolerance_blocks, 0.0, each.grid);
    result.least_launched = std::clamp((launched_ - other_warps) / each.warps - tolerance_blocks, 0.0, each.grid);
    result.most_launched = std::clamp((launched_ - ended_warps_) / each.warps + tolerance_blocks, 0.0, each.grid);
    return result;
  };
  sum_up(sample.start_ns);
  for (Active& each : active_) {
    const Edge start = edge(each, sample.start_ns);
    each.least_launched = start.least_launched;
    each.least_completed = start.least_completed;
  }
  completed_ += *sample.blocks_completed;
  launched_ += *sample.warps_launched;
  sum_up(sample.end_ns);
  const double slack = tolerance_blocks * static_cast<double>(active_.size() + 1);
  if (!(completed_ >= ended_blocks_ - slack) || !(completed_ <= begun_blocks_ + slack) ||
      !(launched_ >= ended_warps_ - slack * 32) || !(launched_ <= begun_warps_ + slack * 32)) {
    counted_ = false;
    active_.clear();
    return;
  }
  for (Active& each : active_) {
    const Edge end = edge(each, sample.end_ns);
    each.blocks.high = std::max(0.0, end.most_launched - each.least_completed);
    each.blocks.low = std::max(0.0, each.least_launched - end.most_completed);
  }
}

FlowBounds::Blocks FlowBounds::of(const Execution& execution) const {
  const auto found = std::ranges::find(active_, &execution, &Active::execution);
  return counted_ && found != active_.end() ? found->blocks : Blocks{0, infinite};
}

}  // namespace kvet::questions
