// Who held a dispatcher up: a thread that blocks is woken by another, so what that one did meanwhile is why it waited.
//
// From wake-up to wake-up the chain is followed back: the time in which the dispatcher was blocked until W woke it is W's;
// of it, the time in which W was blocked itself until V woke W is V's; and so on. What remains with a thread is what it did
// itself: it ran (a lock that it held, Python's interpreter lock among them, or work that it had to finish before it handed it over), slept, or waited for a CPU.
// Only the scheduler's wake-ups prove a chain: a wake-up from an interrupt ends it.
#pragma once

#include <map>
#include <vector>

#include "questions/dispatch_parts.h"

namespace kvet::questions {

class WakeChains {
 public:
  explicit WakeChains(const Capture& capture);

  // What a thread did while others waited for it.
  struct Part {
    std::array<double, activity_count> spent{};  // ns, by Activity
    uint64_t times = 0;  // how many stretches
    [[nodiscard]] double total() const;
  };
  using Causes = std::map<ThreadKey, Part>;
  // Adds the causes of the time in [from, to) in which `thread` was blocked until a recorded thread woke it.
  void add(Causes& causes, const ThreadKey& thread, int64_t from, int64_t to) const;

 private:
  void follow(Causes& causes, const ThreadKey& key, int64_t from, int64_t to, int depth) const;
  std::map<ThreadKey, DispatchThread> threads_;
  std::map<int32_t, std::vector<ThreadKey>> by_thread_id_;
};

// Of the stream starvation in `gaps` (of each dispatcher, in their order): the threads that caused most of it.
void append_wakers(std::vector<Finding>& findings, const DispatchContext& context,
                   const std::vector<Dispatcher>& dispatchers, const std::vector<std::vector<Span>>& gaps);

}  // namespace kvet::questions
