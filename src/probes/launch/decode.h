// Launch events of the uprobes on libcuda to model events (host tier).
#pragma once

#include <cstddef>
#include <span>

#include "model/event_sink.h"
#include "probes/process/process_directory.h"

namespace kvet::probes {

class LaunchDecoder {
 public:
  LaunchDecoder(EventSink& sink, ProcessDirectory& processes) : sink_(sink), processes_(processes) {}

  // One struct kvet_event_launch. Anything else is counted and left out.
  void decode(std::span<const std::byte> event);

  [[nodiscard]] uint64_t decoded() const { return decoded_; }
  [[nodiscard]] uint64_t rejected() const { return rejected_; }

 private:
  EventSink& sink_;
  ProcessDirectory& processes_;
  uint64_t decoded_ = 0, rejected_ = 0;
};

}  // namespace kvet::probes
