#include "record/thread_translator.h"

#include "record/process_facts.h"

namespace kvet::record {

namespace {
// A thread that is not there is not looked for again and again: reading /proc for a thousand threads takes 10 ms.
constexpr int64_t look_again_ns = 100'000'000;
}  // namespace

ThreadTranslator::ThreadTranslator()
    : lookup_([](int32_t pid) {
        std::unordered_map<int32_t, int32_t> found;
        for (const ThreadIds& ids : threads_of(pid)) {
          found.emplace(ids.innermost, ids.ours);
        }
        return found;
      }) {}

void ThreadTranslator::set_process(ProcessId process, int32_t pid, int32_t namespace_pid) {
  State& state = processes_[process];
  state.pid = pid;
  state.same = namespace_pid == 0 || namespace_pid == pid;
  if (!state.same) {
    state.threads.emplace(namespace_pid, pid);  // the first thread has the process's id
  }
}

int32_t ThreadTranslator::translate(ProcessId process, int32_t inside) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || found->second.same) {
    return inside;
  }
  State& state = found->second;
  auto thread = state.threads.find(inside);
  if (thread == state.threads.end() && monotonic_ns() - state.looked_ns > look_again_ns) {
    for (const auto& [in, out] : lookup_(state.pid)) {
      state.threads.insert_or_assign(in, out);
    }
    state.looked_ns = monotonic_ns();
    thread = state.threads.find(inside);
  }
  return thread == state.threads.end() ? 0 : thread->second;
}

}  // namespace kvet::record
