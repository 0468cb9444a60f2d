// The BPF side of the activity source: one USDT program that copies batches out of targets into a ring buffer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "abi/bpf_events.h"
#include "base/result.h"
#include "probes/kernel/ring.h"

namespace kvet::probes {

class ActivityProbe {
 public:
  struct Options {
    // A full batch of 256 records takes 16.5 KB: 32 MiB hold 2,000 of them, half a million records, 1.7 s at 300 k/s.
    uint32_t ring_bytes = 32u << 20;
    bool sleepable = true;  // tried first: it survives a page that is not present
    const TargetMap* targets = nullptr;  // these processes' batches and nobody else's; nullptr: everybody's
  };

  // Errors: unavailable (no privileges, no BTF; the reason and what to do).
  static Result<ActivityProbe> load(Options options);
  ActivityProbe(ActivityProbe&&) noexcept;
  ActivityProbe& operator=(ActivityProbe&&) noexcept;
  ~ActivityProbe();

  // Attaches to the probe kvet:batch of the library at `path` (a path that this process can open: /proc/PID/map_files/...,
  // or the recorder's own copy). pid −1: every process that maps that file, now or later, which is right for a copy that
  // only this recording's targets load. The returned number serves detach.
  Result<int> attach(const std::string& path, int pid = -1);
  void detach(int attachment);

  [[nodiscard]] int ring_descriptor() const;  // for ring_buffer__new or ring_buffer__add; events: kvet_event_batch
  [[nodiscard]] bool sleepable() const;  // which of the two programs runs
  // Sums over CPUs, by enum kvet_bpf_counter.
  [[nodiscard]] std::array<uint64_t, KVET_COUNTER_LIMIT> counters() const;
  // Hits that the kernel did not run since the program was running already on that CPU. Each lost a batch.
  [[nodiscard]] uint64_t missed_recursions() const;

 private:
  ActivityProbe();
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kvet::probes
