#include "record/link_closer.h"

#include <algorithm>
#include <chrono>

#include "record/process_facts.h"

namespace kvet::record {

namespace {

constexpr int64_t quiet_ns = 1'000'000'000;
constexpr size_t too_many = 512;  // processes
// At the end nobody attaches any more, and grace periods that run beside each other are shared.
constexpr size_t threads_at_end = 32;

void close_all(std::vector<FileDescriptor>& links) {
  for (FileDescriptor& link : links) {
    link.reset();
  }
}

}  // namespace

LinkCloser::~LinkCloser() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  std::vector<std::thread> threads;
  for (size_t index = 0; index < std::min(threads_at_end, queue_.size()); ++index) {
    threads.emplace_back([this] {
      std::unique_lock lock(mutex_);
      while (!queue_.empty()) {
        std::vector<FileDescriptor> links = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        close_all(links);
        lock.lock();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void LinkCloser::close(std::vector<FileDescriptor> links) {
  if (links.empty()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(links));
  quiet_since_ns_ = monotonic_ns();
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { work(); });
  }
  wake_.notify_one();
}

void LinkCloser::hold_off() {
  const std::lock_guard lock(mutex_);
  quiet_since_ns_ = monotonic_ns();
}

void LinkCloser::work() {
  std::unique_lock lock(mutex_);
  while (!finishing_) {
    if (queue_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const int64_t quiet = monotonic_ns() - quiet_since_ns_;
    if (quiet < quiet_ns && queue_.size() < too_many) {
      wake_.wait_for(lock, std::chrono::nanoseconds(quiet_ns - quiet));
      continue;
    }
    std::vector<FileDescriptor> links = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    close_all(links);
    lock.lock();
  }
}

}  // namespace kvet::record
