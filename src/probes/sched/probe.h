// The scheduler program: loads, attaches and reads it.
#pragma once

#include <memory>

#include "base/result.h"
#include "probes/kernel/ring.h"

namespace kvet::probes {

class SchedProbe {
 public:
  // Errors: unavailable, with the kernel's reason.
  static Result<SchedProbe> load(const TargetMap& targets, RingReader::Handler handler);
  SchedProbe(SchedProbe&&) noexcept;
  SchedProbe& operator=(SchedProbe&&) noexcept;
  ~SchedProbe();

  Result<void> attach();
  void detach();
  size_t poll();
  [[nodiscard]] BpfCounters counters() const;

 private:
  SchedProbe();
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kvet::probes
