// Arithmetic on half-open time intervals.
#pragma once

#include <cstdint>
#include <vector>

namespace kvet::verdict {

struct TimeSpan {
  int64_t from = 0, to = 0;
  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

// Sorted and merged: disjoint, not touching, none empty.
std::vector<TimeSpan> merged(std::vector<TimeSpan> spans);
// Total length of spans that are disjoint.
int64_t total(const std::vector<TimeSpan>& spans);
// The part of disjoint sorted spans that lies in [from, to).
int64_t total_within(const std::vector<TimeSpan>& spans, int64_t from, int64_t to);

}  // namespace kvet::verdict
