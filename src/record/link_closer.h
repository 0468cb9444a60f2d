// Closes probe links when it disturbs nobody. The kernel waits out grace periods at each (36 ms for an uprobe_multi link,
// 0.1 s for every single uprobe, measured on Linux 6.18) and meanwhile holds locks that attaching needs: a library that
// another process maps at that moment would get its probes up to half a second late.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"

namespace kvet::record {

class LinkCloser {
 public:
  LinkCloser() = default;
  ~LinkCloser();  // returns when all are closed
  LinkCloser(const LinkCloser&) = delete;
  LinkCloser& operator=(const LinkCloser&) = delete;

  // Closed one after the other in this order, once nothing was attached or handed over for a second. Until then the links
  // of an ended process cost every hit of the same function 10 ns; when very many have gathered, it does not wait.
  void close(std::vector<FileDescriptor> links);
  // Something is being attached: not now.
  void hold_off();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::vector<FileDescriptor>> queue_;
  std::thread thread_;
  int64_t quiet_since_ns_ = 0;
  bool finishing_ = false;
};

}  // namespace kvet::record
