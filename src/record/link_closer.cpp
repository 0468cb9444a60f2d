#include "record/link_closer.h"

namespace kvet::record {

namespace {
constexpr size_t max_threads = 16;
}

LinkCloser::~LinkCloser() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void LinkCloser::close(std::vector<FileDescriptor> links) {
  if (links.empty()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(links));
  if (idle_ < queue_.size() && threads_.size() < max_threads) {
    threads_.emplace_back([this] { work(); });
  }
  wake_.notify_one();
}

void LinkCloser::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!queue_.empty()) {
      std::vector<FileDescriptor> links = std::move(queue_.back());
      queue_.pop_back();
      lock.unlock();
      for (FileDescriptor& link : links) {
        link.reset();
      }
      lock.lock();
      continue;
    }
    if (finishing_) {
      return;
    }
    ++idle_;
    wake_.wait(lock);
    --idle_;
  }
}

}  // namespace kvet::record
