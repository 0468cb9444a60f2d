#include "probes/activity/captured.h"

#include <algorithm>

namespace kvet::probes {
namespace {

void insert_sorted(std::vector<int64_t>& times, int64_t time_ns) {
  times.insert(std::upper_bound(times.begin(), times.end(), time_ns), time_ns);
}

int64_t count_until(const std::vector<int64_t>& times, int64_t time_ns) {
  return std::upper_bound(times.begin(), times.end(), time_ns) - times.begin();
}

}  // namespace

void CapturedLaunches::capture_began(int64_t time_ns) { add_edge(begins_, time_ns, 1); }
void CapturedLaunches::capture_ended(int64_t time_ns) { add_edge(ends_, time_ns, -1); }

void CapturedLaunches::add_edge(std::vector<int64_t>& times, int64_t time_ns, int change) {
  if (time_ns <= forgotten_until_ns_) {
    open_before_ += change;
    return;
  }
  insert_sorted(times, time_ns);
  if (edges() <= edge_limit) {
    return;
  }
  // The older half of the longer list, and what is as old in the other.
  const std::vector<int64_t>& longer = begins_.size() > ends_.size() ? begins_ : ends_;
  forgotten_until_ns_ = longer[longer.size() / 2];
  const int64_t begun = count_until(begins_, forgotten_until_ns_);
  const int64_t ended = count_until(ends_, forgotten_until_ns_);
  open_before_ += begun - ended;
  begins_.erase(begins_.begin(), begins_.begin() + begun);
  ends_.erase(ends_.begin(), ends_.begin() + ended);
}

// Captures may nest and overlap, on several threads: one is open as long as more have begun than ended.
bool CapturedLaunches::capturing(int64_t time_ns) const {
  return open_before_ + count_until(begins_, time_ns) > count_until(ends_, time_ns);
}

bool CapturedLaunches::was_executed(uint32_t correlation_id) const {
  if (executed_bits_.empty() || newest_correlation_ - correlation_id >= window) {
    return false;
  }
  const uint32_t bit = correlation_id % window;
  return (executed_bits_[bit / 64] >> (bit % 64) & 1) != 0;
}

void CapturedLaunches::launched(const ApiCall& call, const Emit& emit) {
  newest_ns_ = std::max(newest_ns_, call.end_ns);
  waiting_.push_back(call);
  release(false, emit);
}

void CapturedLaunches::executed(uint32_t correlation_id, const Emit& emit) {
  if (executed_bits_.empty()) {
    executed_bits_.resize(window / 64);
    newest_correlation_ = correlation_id;
  }
  // Ids count up: what a newer one pushes out of the window is forgotten. The subtraction wraps as the ids do.
  const uint32_t ahead = correlation_id - newest_correlation_;
  if (ahead != 0 && ahead < 1u << 31) {
    if (ahead >= window) {
      std::fill(executed_bits_.begin(), executed_bits_.end(), 0);
    } else {
      for (uint32_t id = newest_correlation_ + 1; id != correlation_id + 1; ++id) {
        executed_bits_[id % window / 64] &= ~(uint64_t{1} << (id % 64));
      }
    }
    newest_correlation_ = correlation_id;
  }
  if (newest_correlation_ - correlation_id < window) {
    const uint32_t bit = correlation_id % window;
    executed_bits_[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  if (!candidates_.empty()) {
    if (const auto found = candidates_.find(correlation_id); found != candidates_.end()) {
      emit(found->second);
      candidates_.erase(found);
    }
  }
}

void CapturedLaunches::release(bool all, const Emit& emit) {
  while (!waiting_.empty() &&
         (all || waiting_.size() > waiting_limit || waiting_.front().end_ns < newest_ns_ - delay_ns)) {
    const ApiCall call = waiting_.front();
    waiting_.pop_front();
    const bool candidate = call.correlation_id != 0 && call.result == 0 && candidates_.size() < candidate_limit &&
                           capturing(call.start_ns) && !was_executed(call.correlation_id);
    if (candidate) {
      candidates_.insert_or_assign(call.correlation_id, call);
    } else {
      emit(call);
    }
  }
}

void CapturedLaunches::finish(const Emit& emit) {
  release(true, emit);
  std::vector<ApiCall> left;
  left.reserve(candidates_.size());
  for (const auto& [correlation_id, call] : candidates_) {
    left.push_back(call);
  }
  candidates_.clear();
  std::sort(left.begin(), left.end(), [](const ApiCall& a, const ApiCall& b) { return a.start_ns < b.start_ns; });
  for (ApiCall& call : left) {
    call.captured = true;
    emit(call);
  }
}

}  // namespace kvet::probes
