// Slices that overlap, spread over lanes: viewers cannot draw two slices beside each other in one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

namespace kvet::questions {

// Slices are given by start; each gets the lowest lane that is free, so that the lanes are as many as slices overlap.
class Lanes {
 public:
  enum class Nesting : uint8_t {
    none,    // work of a stream: what lies inside another's time is no part of it
    inside,  // calls and ranges of a thread: one inside another shares its lane, one that only overlaps does not
  };
  explicit Lanes(Nesting nesting) : nesting_(nesting) {}

  size_t place(int64_t start_ns, int64_t end_ns);

 private:
  size_t place_flat(int64_t start_ns, int64_t end_ns);

  Nesting nesting_;
  std::vector<std::vector<int64_t>> open_;  // by lane: ends of the slices that are open, innermost last
  std::set<size_t> free_;
  using Busy = std::pair<int64_t, size_t>;  // end, lane
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  size_t flat_lanes_ = 0;
};

}  // namespace kvet::questions
