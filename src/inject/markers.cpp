#include "inject/markers.h"

#include "inject/memory.h"

namespace kvet::inject {

bool OpenRanges::create() {
  ranges_ = static_cast<OpenRange*>(reserve(limit * sizeof(OpenRange)));
  heads_ = static_cast<uint32_t*>(reserve(buckets * sizeof(uint32_t)));
  if (ranges_ != nullptr && heads_ != nullptr) {
    return true;
  }
  release(ranges_, limit * sizeof(OpenRange));
  release(heads_, buckets * sizeof(uint32_t));
  ranges_ = nullptr;
  heads_ = nullptr;
  return false;
}

bool OpenRanges::take(uint32_t id, bool is_end, OpenRange* range) {
  if (ranges_ == nullptr) {
    return false;
  }
  for (uint32_t* link = &heads_[id % buckets]; *link != 0; link = &ranges_[*link - 1].next) {
    OpenRange& candidate = ranges_[*link - 1];
    if (candidate.id == id && candidate.is_end == is_end) {
      *range = candidate;
      const uint32_t number = *link;
      *link = candidate.next;
      candidate.next = free_;
      free_ = number;
      return true;
    }
  }
  return false;
}

bool OpenRanges::keep(const OpenRange& range) {
  if (ranges_ == nullptr && !create()) {
    return false;
  }
  uint32_t number = free_;
  if (number != 0) {
    free_ = ranges_[number - 1].next;
  } else if (used_ < limit) {
    number = ++used_;
  } else {
    return false;
  }
  uint32_t& head = heads_[range.id % buckets];
  ranges_[number - 1] = range;
  ranges_[number - 1].next = head;
  head = number;
  return true;
}

}  // namespace kvet::inject
