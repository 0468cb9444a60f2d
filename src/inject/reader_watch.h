// Notices that nobody takes this process's records any more: the recorder was killed, or has ended while the target runs on.
#pragma once

#include <cstdint>

namespace kvet::inject {

class ReaderWatch {
 public:
  // Call it again and again. True: nobody was reading at any call for `patience_ns` in all. One interval between two calls
  // counts for `most_ns` at most: recorder and target may have been stopped together (^Z), or the machine asleep.
  bool is_gone(bool reading, uint64_t now_ns, uint64_t patience_ns, uint64_t most_ns) {
    const uint64_t passed = now_ns - before_ns_;
    const bool first = before_ns_ == 0;
    before_ns_ = now_ns;
    if (reading || first) {
      absent_ns_ = 0;
      return false;
    }
    absent_ns_ += passed < most_ns ? passed : most_ns;
    return absent_ns_ >= patience_ns;
  }

 private:
  uint64_t before_ns_ = 0;
  uint64_t absent_ns_ = 0;
};

}  // namespace kvet::inject
