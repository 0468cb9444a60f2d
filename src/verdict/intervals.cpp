#include "verdict/intervals.h"

#include <algorithm>

namespace kvet::verdict {

std::vector<TimeSpan> merged(std::vector<TimeSpan> spans) {
  std::sort(spans.begin(), spans.end(), [](const TimeSpan& a, const TimeSpan& b) { return a.from < b.from; });
  std::vector<TimeSpan> result;
  for (const TimeSpan& span : spans) {
    if (span.to <= span.from) {
      continue;
    }
    if (!result.empty() && span.from <= result.back().to) {
      result.back().to = std::max(result.back().to, span.to);
    } else {
      result.push_back(span);
    }
  }
  return result;
}

int64_t total(const std::vector<TimeSpan>& spans) {
  int64_t sum = 0;
  for (const TimeSpan& span : spans) {
    sum += span.to - span.from;
  }
  return sum;
}

int64_t total_within(const std::vector<TimeSpan>& spans, int64_t from, int64_t to) {
  auto first = std::upper_bound(spans.begin(), spans.end(), from,
                                [](int64_t time, const TimeSpan& span) { return time < span.to; });
  int64_t sum = 0;
  for (auto span = first; span != spans.end() && span->from < to; ++span) {
    sum += std::min(span->to, to) - std::max(span->from, from);
  }
  return sum;
}

}  // namespace kvet::verdict
