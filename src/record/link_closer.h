// Closes probe links on threads of its own: the kernel waits out grace periods at each (36 ms for an uprobe_multi link,
// 0.1 s for every single uprobe, measured on Linux 6.18), and nothing else should wait for that.
#pragma once

#include <condition_variable>
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

  // Closed one after the other in this order. Several calls run beside each other, since grace periods can be shared.
  void close(std::vector<FileDescriptor> links);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::vector<FileDescriptor>> queue_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool finishing_ = false;
};

}  // namespace kvet::record
