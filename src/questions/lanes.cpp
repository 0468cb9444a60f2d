#include "questions/lanes.h"

namespace kvet::questions {
namespace {

// No thread has more ranges across each other. A file may say so: what does not fit here is placed without nesting, which costs
// a logarithm only.
constexpr size_t nesting_lanes = 32;

}  // namespace

size_t Lanes::place(int64_t start_ns, int64_t end_ns) {
  if (nesting_ == Nesting::none) {
    return place_flat(start_ns, end_ns);
  }
  for (size_t lane = 0; lane < nesting_lanes; ++lane) {
    if (lane == open_.size()) {
      open_.emplace_back();
    }
    std::vector<int64_t>& open = open_[lane];
    while (!open.empty() && open.back() <= start_ns) {
      open.pop_back();
    }
    if (open.empty() || open.back() >= end_ns) {
      open.push_back(end_ns);
      return lane;
    }
  }
  return nesting_lanes + place_flat(start_ns, end_ns);
}

size_t Lanes::place_flat(int64_t start_ns, int64_t end_ns) {
  while (!busy_.empty() && busy_.top().first <= start_ns) {
    free_.insert(busy_.top().second);
    busy_.pop();
  }
  if (free_.empty()) {
    free_.insert(flat_lanes_++);
  }
  const size_t lane = *free_.begin();
  free_.erase(free_.begin());
  busy_.emplace(end_ns, lane);
  return lane;
}

}  // namespace kvet::questions
