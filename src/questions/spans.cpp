#include "questions/spans.h"

#include <algorithm>

namespace kvet::questions {

SpanSet::SpanSet(std::vector<Span> any) {
  std::erase_if(any, [](const Span& span) { return span.to <= span.from; });
  auto earlier = [](const Span& a, const Span& b) { return a.from < b.from; };
  if (!std::ranges::is_sorted(any, earlier)) {
    std::ranges::sort(any, earlier);
  }
  for (const Span& span : any) {
    if (!spans_.empty() && span.from <= spans_.back().to) {
      spans_.back().to = std::max(spans_.back().to, span.to);
    } else {
      spans_.push_back(span);
    }
  }
  int64_t sum = 0;
  before_.reserve(spans_.size());
  for (const Span& span : spans_) {
    before_.push_back(sum += span.to - span.from);
  }
}

int64_t SpanSet::covered_until(int64_t time) const {
  auto after = std::ranges::lower_bound(spans_, time, {}, &Span::from);  // first that begins at or after `time`
  if (after == spans_.begin()) {
    return 0;
  }
  const size_t last = static_cast<size_t>(after - spans_.begin()) - 1;
  return before_[last] - std::max<int64_t>(0, spans_[last].to - time);
}

int64_t SpanSet::covered(int64_t from, int64_t to) const {
  return to <= from ? 0 : covered_until(to) - covered_until(from);
}

SpanSet intersection(const SpanSet& a, const SpanSet& b) {
  std::vector<Span> both;
  size_t i = 0, j = 0;
  while (i < a.spans().size() && j < b.spans().size()) {
    const Span &x = a.spans()[i], &y = b.spans()[j];
    both.push_back({std::max(x.from, y.from), std::min(x.to, y.to)});
    x.to < y.to ? ++i : ++j;
  }
  return SpanSet{std::move(both)};
}

SpanSet difference(const SpanSet& a, const SpanSet& b) {
  std::vector<Span> left;
  size_t j = 0;
  for (Span span : a.spans()) {
    while (j < b.spans().size() && b.spans()[j].to <= span.from) {
      ++j;
    }
    for (size_t k = j; k < b.spans().size() && b.spans()[k].from < span.to; ++k) {
      left.push_back({span.from, b.spans()[k].from});
      span.from = std::max(span.from, b.spans()[k].to);
    }
    left.push_back(span);
  }
  return SpanSet{std::move(left)};
}

}  // namespace kvet::questions
