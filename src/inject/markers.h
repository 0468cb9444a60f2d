// NVTX ranges: CUPTI delivers the start and the end of a range as two records, in any order when two threads' buffers are
// involved; both together make one RANGE record. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvet::inject {

// One end of a range, kept until the other comes.
struct OpenRange {
  uint32_t id;
  uint32_t next;  // in the bucket's chain, or in the free list; number + 1, 0: none
  uint64_t time_ns;
  uint32_t name, domain;  // STRING entries; only the start has them
  uint32_t thread_id;
  bool is_end;
  bool process_wide;  // of a start/end range, which may cross threads
};

class OpenRanges {
 public:
  // Takes out the other end of range `id`, if it is there.
  bool take(uint32_t id, bool is_end, OpenRange* range);
  // Keeps one end; false: 65,536 are open already, or no memory.
  bool keep(const OpenRange& range);

 private:
  bool create();
  static constexpr uint32_t limit = 65'536;
  static constexpr uint32_t buckets = 16'384;
  OpenRange* ranges_ = nullptr;
  uint32_t* heads_ = nullptr;
  uint32_t used_ = 0;
  uint32_t free_ = 0;
};

}  // namespace kvet::inject
