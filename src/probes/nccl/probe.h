// The NCCL program: loads it and reads it. Where its functions lie in a library is the attacher's business.
#pragma once

#include <memory>

#include "base/result.h"
#include "probes/kernel/probed_function.h"
#include "probes/kernel/ring.h"

namespace kvet::probes {

class NcclProbe {
 public:
  static Result<NcclProbe> load(const TargetMap& targets, UprobeWay way, RingReader::Handler handler);
  NcclProbe(NcclProbe&&) noexcept;
  NcclProbe& operator=(NcclProbe&&) noexcept;
  ~NcclProbe();

  [[nodiscard]] UprobeProgram program() const;
  size_t poll();
  [[nodiscard]] BpfCounters counters() const;

 private:
  NcclProbe();
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kvet::probes
