// Thread ids of the machine for those that a process in a pid namespace of its own sees (a container).
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "model/ids.h"

namespace kvet::record {

class ThreadTranslator {
 public:
  // What a process's threads are called inside and outside; by default from /proc (process_facts.h).
  using Lookup = std::function<std::unordered_map<int32_t, int32_t>(int32_t pid)>;
  ThreadTranslator();
  explicit ThreadTranslator(Lookup lookup) : lookup_(std::move(lookup)) {}

  // `pid` outside, `namespace_pid` inside (0: unknown).
  void set_process(ProcessId process, int32_t pid, int32_t namespace_pid);
  // 0: not known, since the thread had ended before anybody looked.
  [[nodiscard]] int32_t translate(ProcessId process, int32_t inside);

 private:
  struct State {
    int32_t pid = 0;
    bool same = true;  // ids inside are those outside
    std::unordered_map<int32_t, int32_t> threads;
    int64_t looked_ns = 0;
  };
  Lookup lookup_;
  std::unordered_map<ProcessId, State> processes_;
};

}  // namespace kvet::record
