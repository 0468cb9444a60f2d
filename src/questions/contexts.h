// Which contexts' kernels can run beside each other, and which only take turns (questions.md, "Who is a sibling").
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/capture.h"
#include "questions/spans.h"

namespace kvet::questions {

// Kernels on one device may be siblings exactly where their groups are equal: one context; green contexts and the context
// that they were made from; all clients of the Multi-Process Service. A context that the capture says nothing about (a
// libcupti that does not tell, an imported file) is a group of its own.
class SharingGroups {
 public:
  explicit SharingGroups(const Capture& capture);
  // Counts from 0 in the order of asking.
  uint32_t of(ProcessId process, uint32_t context_id);
  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(groups_.size()); }

 private:
  using Key = std::pair<uint32_t, uint32_t>;  // process, context
  [[nodiscard]] const Context* find(Key key) const;
  std::map<Key, const Context*> contexts_;
  std::map<std::pair<bool, Key>, uint32_t> groups_;  // true: the clients of MPS, all of them
  std::map<Key, uint32_t> known_;
};

// Times in which kernels of more than one group were under way on the device. The hardware ran one of them at a time:
// the execution record of a kernel that had to wait for its context's turn covers the wait.
SpanSet groups_under_way(const Capture& capture, DeviceId device);

// Samples in which the device spent time on switching between contexts: at least 1% of their cycles, a switch being tens
// of microseconds long.
SpanSet switching_samples(const Capture& capture, DeviceId device);

}  // namespace kvet::questions
