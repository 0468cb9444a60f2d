#include "probes/sched/decode.h"

#include "probes/kernel/event.h"
#include "probes/sched/system_calls.h"

namespace kvet::probes {

namespace {

constexpr uint32_t task_uninterruptible = 0x2;  // TASK_UNINTERRUPTIBLE of include/linux/sched.h
constexpr uint32_t task_noload = 0x400;         // TASK_NOLOAD: waits so, but for nothing that counts as load

OffCpuReason reason_of(const kvet_event_off_cpu& event) {
  if (event.preempted == KVET_OFF_CPU_THROTTLED) {
    return OffCpuReason::throttled;
  }
  if (event.preempted == KVET_OFF_CPU_PREEMPTED) {
    // Runnable, and yet the CPU went idle: its cgroup may not run. Kernels before 6.18 say it no other way.
    return event.taker_thread_id == 0 ? OffCpuReason::throttled : OffCpuReason::preempted;
  }
  const OffCpuReason reason = blocking_reason(event.system_call);
  const bool uninterruptible = (event.state & task_uninterruptible) != 0 && (event.state & task_noload) == 0;
  return reason == OffCpuReason::other && uninterruptible ? OffCpuReason::io : reason;
}

}  // namespace

void SchedDecoder::decode(std::span<const std::byte> bytes) {
  const auto event = take_event<kvet_event_off_cpu>(bytes, KVET_EVENT_OFF_CPU);
  if (!event || event->end_ns < event->header.time_ns) {
    ++rejected_;
    return;
  }
  OffCpu off_cpu;
  off_cpu.start_ns = static_cast<int64_t>(event->header.time_ns);
  off_cpu.end_ns = static_cast<int64_t>(event->end_ns);
  // A wake-up that was not seen (it raced with the switch on another CPU) was no earlier than the start and no later
  // than the end; the end leaves the waiting for a CPU at zero instead of inventing some.
  off_cpu.wake_ns = event->wake_ns == 0 ? off_cpu.end_ns : static_cast<int64_t>(event->wake_ns);
  off_cpu.process = processes_.at(static_cast<int32_t>(event->header.process_id), off_cpu.start_ns);
  off_cpu.thread_id = static_cast<int32_t>(event->header.thread_id);
  off_cpu.reason = reason_of(*event);
  off_cpu.system_call = event->system_call;
  off_cpu.cpu = event->cpu;
  off_cpu.taker_thread_id = static_cast<int32_t>(event->taker_thread_id);
  off_cpu.taker_name = sink_.intern(fixed_text(event->taker_name));
  off_cpu.waker_thread_id = static_cast<int32_t>(event->waker_thread_id);
  sink_.on(off_cpu);
  ++decoded_;
}

}  // namespace kvet::probes
