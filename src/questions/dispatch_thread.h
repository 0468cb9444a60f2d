// What one host thread did with its time: inside calls that wait for the GPU, off the CPU and why, or running.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/capture.h"
#include "questions/spans.h"

namespace kvet::questions {

// Every instant of a thread is exactly one of these. Time inside a synchronising call counts as waiting for the GPU,
// spinning or asleep. Names: activity_name().
enum class Activity : uint8_t {
  running,
  preempted,
  waiting_for_cpu,
  throttled,
  futex,
  poll,
  io,
  sleep,
  other,
  unexplained,
  waiting_for_gpu,
};
constexpr size_t activity_count = 11;
[[nodiscard]] const char* activity_name(Activity activity);  // "waiting_for_cpu": as in finding ids
[[nodiscard]] const char* in_words(Activity activity);  // "had asked to sleep": what a thread did
using Breakdown = std::array<int64_t, activity_count>;       // ns, by Activity

using ThreadKey = std::pair<uint32_t, int32_t>;  // process, thread id
[[nodiscard]] std::string thread_label(const Capture& capture, const ThreadKey& key);  // "thread 4711 of python"

class DispatchThread {
 public:
  ThreadKey key;
  std::vector<uint32_t> calls;     // all recorded calls of the thread, as indices into Capture::api_calls, by start
  std::vector<const OffCpu*> off_cpu;  // by start
  SpanSet synchronising;

  // The span in which it made calls: from the first call's start to the last one's end. What it did before and after
  // (starting up, being joined) says nothing about dispatch.
  Span active;

  void finish(const Capture& capture);  // once `calls` and `off_cpu` are complete

  // How [from, to) was spent. Adds up to to − from.
  [[nodiscard]] Breakdown breakdown(int64_t from, int64_t to) const;
  // One time that it was off the CPU.
  struct Piece {
    int64_t from, to;
    Activity activity;
    const OffCpu* interval;  // of which it is a part
  };
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }  // by start, disjoint
  // How much of [from, to) it was off the CPU, whatever it waited for.
  [[nodiscard]] int64_t off_cpu_within(int64_t from, int64_t to) const { return off_cpu_spans_.covered(from, to); }

 private:
  std::vector<Piece> pieces_;
  SpanSet off_cpu_spans_;
};

// The threads with the given keys. One pass over calls and off-CPU intervals.
[[nodiscard]] std::map<ThreadKey, DispatchThread> dispatch_threads(const Capture& capture,
                                                                   const std::vector<ThreadKey>& wanted);

}  // namespace kvet::questions
