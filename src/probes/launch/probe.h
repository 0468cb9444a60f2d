// The launch program: loads it and reads it. Where its functions lie in a library is the attacher's business.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "probes/kernel/probed_function.h"
#include "probes/kernel/ring.h"

namespace kvet::probes {

class LaunchProbe {
 public:
  // `count_only` (device tier): launches are counted per process and no event is sent.
  static Result<LaunchProbe> load(const TargetMap& targets, UprobeWay way, bool count_only,
                                  RingReader::Handler handler);
  LaunchProbe(LaunchProbe&&) noexcept;
  LaunchProbe& operator=(LaunchProbe&&) noexcept;
  ~LaunchProbe();

  [[nodiscard]] UprobeProgram program() const;
  // Where only counts are sent and a process turns out to have no other source of launches: attach this to it (returns
  // only), then ask for its events.
  [[nodiscard]] UprobeProgram returns_program() const;
  void send_events_of(int32_t pid);
  size_t poll();
  [[nodiscard]] BpfCounters counters() const;

  struct Count {
    int32_t pid = 0;
    uint64_t launches = 0, captured = 0;
  };
  [[nodiscard]] std::vector<Count> launches_by_process() const;
  // The process has ended: its pid may be another's soon. Returns what it had counted.
  Count forget(int32_t pid);

 private:
  LaunchProbe();
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kvet::probes
