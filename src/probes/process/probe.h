// The program that follows processes: loads, attaches and reads it.
#pragma once

#include <memory>

#include "base/result.h"
#include "probes/kernel/ring.h"

namespace kvet::probes {

class ProcessProbe {
 public:
  // Errors: unavailable, with the kernel's reason.
  static Result<ProcessProbe> load(const TargetMap& targets, RingReader::Handler handler);
  ProcessProbe(ProcessProbe&&) noexcept;
  ProcessProbe& operator=(ProcessProbe&&) noexcept;
  ~ProcessProbe();

  Result<void> attach();
  void detach();
  size_t poll();
  [[nodiscard]] int descriptor() const;  // becomes readable at every event
  [[nodiscard]] BpfCounters counters() const;

 private:
  ProcessProbe();
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kvet::probes
