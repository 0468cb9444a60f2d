// Joins executions to the launch calls that asked for them, and says which part of a capture counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/capture.h"
#include "verdict/intervals.h"

namespace kvet::verdict {

[[nodiscard]] inline bool is_kernel_launch(ApiKind kind) {
  return kind == ApiKind::launch_kernel || kind == ApiKind::launch_cooperative;
}

// The launch calls of a capture by (process, correlation id). Keeps a reference: the capture must outlive it.
class LaunchIndex {
 public:
  explicit LaunchIndex(const Capture& capture);
  // nullptr: no launch record with that id.
  [[nodiscard]] const ApiCall* find(ProcessId process, uint32_t correlation_id) const;
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    uint64_t key;
    uint32_t call;
  };
  const Capture& capture_;
  std::vector<Entry> entries_;
};

// The part that counts: meta window.from_ns to window.to_ns, or everything.
struct Window {
  TimeSpan span;
  bool stated = false;  // the capture names one
  [[nodiscard]] bool contains(int64_t time) const { return time >= span.from && time < span.to; }
};
Window window_of(const Capture& capture);

// A fact that is a whole number; empty where it is absent or something else.
std::optional<int64_t> whole_fact(const Capture& capture, std::string_view key);
std::optional<double> number_fact(const Capture& capture, std::string_view key);

}  // namespace kvet::verdict
