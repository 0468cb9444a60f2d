#include "probes/counters/message_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kvet::probes {

MessageWriter::MessageWriter(int descriptor, size_t queue_limit) : descriptor_(descriptor), queue_limit_(queue_limit) {
  ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) | O_NONBLOCK);
}

void MessageWriter::append_locked(const void* message, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(message);
  queue_.insert(queue_.end(), bytes, bytes + size);
}

void MessageWriter::put(const void* message, size_t size) {
  const std::lock_guard lock(mutex_);
  append_locked(message, size);
  write_locked();
}

void MessageWriter::send_sample(kvet_sampler_sample sample) {
  sample.header = {KVET_SAMPLER_SAMPLE, sizeof(sample)};
  const std::lock_guard lock(mutex_);
  Dropped& dropped = dropped_[sample.device];
  if (queue_.size() - written_ + sizeof(sample) > queue_limit_) {
    if (dropped.count++ == 0) {
      dropped.first_ns = sample.start_ns;
    }
    dropped.last_ns = sample.end_ns;
    return;
  }
  report_drop_locked(sample.device, dropped);
  append_locked(&sample, sizeof(sample));
  ++samples_sent_;
  // Samples are written in bulk: a write per sample would cost more than decoding it.
  if (queue_.size() - written_ >= (32u << 10)) {
    write_locked();
  }
}

void MessageWriter::report_drop_locked(uint32_t device, Dropped& dropped) {
  if (dropped.count == 0) {
    return;
  }
  kvet_sampler_loss loss{};
  loss.header = {KVET_SAMPLER_LOSS, sizeof(loss)};
  loss.device = device;
  loss.loss = KVET_SAMPLER_LOSS_PIPE;
  loss.count = dropped.count;
  loss.first_ns = dropped.first_ns;
  loss.last_ns = dropped.last_ns;
  dropped = {};
  append_locked(&loss, sizeof(loss));
}

void MessageWriter::report_drops() {
  const std::lock_guard lock(mutex_);
  for (auto& [device, dropped] : dropped_) {
    report_drop_locked(device, dropped);
  }
}

void MessageWriter::write_locked() {
  while (!broken_ && written_ < queue_.size()) {
    const ssize_t count = ::write(descriptor_, queue_.data() + written_, queue_.size() - written_);
    if (count > 0) {
      written_ += static_cast<size_t>(count);
    } else if (errno == EINTR) {
      continue;
    } else {
      broken_ = errno != EAGAIN;
      break;
    }
  }
  if (broken_ || written_ == queue_.size()) {
    queue_.clear();
    written_ = 0;
  } else if (written_ > queue_.size() / 2) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<ptrdiff_t>(written_));
    written_ = 0;
  }
}

void MessageWriter::flush() {
  const std::lock_guard lock(mutex_);
  write_locked();
}

bool MessageWriter::flush_until(std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      write_locked();
      if (queue_.empty()) {
        return !broken_;
      }
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) {
      return false;
    }
    pollfd descriptor{descriptor_, POLLOUT, 0};
    ::poll(&descriptor, 1, static_cast<int>(std::min<int64_t>(left, 100)));
  }
}

bool MessageWriter::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

uint64_t MessageWriter::samples_sent() const {
  const std::lock_guard lock(mutex_);
  return samples_sent_;
}

}  // namespace kvet::probes
