// Arithmetic on half-open time intervals [from, to), in nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvet::questions {

struct Span {
  int64_t from = 0, to = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

// A set of points in time: spans that are sorted, disjoint, not touching and not empty. Questions about a point or a
// part cost a binary search.
class SpanSet {
 public:
  SpanSet() = default;
  explicit SpanSet(std::vector<Span> any);  // in any order, overlapping, empty ones allowed

  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
  [[nodiscard]] bool empty() const { return spans_.empty(); }
  [[nodiscard]] int64_t total() const { return before_.empty() ? 0 : before_.back(); }
  // How much of [from, to) is in the set.
  [[nodiscard]] int64_t covered(int64_t from, int64_t to) const;
  [[nodiscard]] bool contains(int64_t time) const { return covered(time, time + 1) > 0; }

 private:
  [[nodiscard]] int64_t covered_until(int64_t time) const;
  std::vector<Span> spans_;
  std::vector<int64_t> before_;  // total length up to and with each span
};

// What is in both; what is in the first and not in the second.
SpanSet intersection(const SpanSet& a, const SpanSet& b);
SpanSet difference(const SpanSet& a, const SpanSet& b);

}  // namespace kvet::questions
