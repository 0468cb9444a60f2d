// The names that enumerators carry in the file (table `enumerator`) and in docs/capture-format.md. A switch that forgets
// one does not compile (-Wswitch); a value outside has no name, which is how the reader knows the range.
#pragma once

#include <cstdint>

#include "model/events.h"

namespace kvet::store {

constexpr const char* enumeration(ClockSource) { return "clock_source"; }
constexpr const char* enumerator(ClockSource value) {
  switch (value) {
    case ClockSource::host: return "host";
    case ClockSource::activity: return "activity";
    case ClockSource::counters: return "counters";
    case ClockSource::imported: return "imported";
  }
  return nullptr;
}

constexpr const char* enumeration(Source) { return "source"; }
constexpr const char* enumerator(Source value) {
  switch (value) {
    case Source::cupti: return "cupti";
    case Source::uprobe: return "uprobe";
    case Source::usdt: return "usdt";
    case Source::scheduler: return "scheduler";
    case Source::nccl: return "nccl";
    case Source::counters: return "counters";
    case Source::nvml: return "nvml";
    case Source::store: return "store";
    case Source::recorder: return "recorder";
    case Source::imported: return "imported";
  }
  return nullptr;
}

constexpr const char* enumeration(ContextSharing) { return "context_sharing"; }
constexpr const char* enumerator(ContextSharing value) {
  switch (value) {
    case ContextSharing::unknown: return "unknown";
    case ContextSharing::time_sliced: return "time_sliced";
    case ContextSharing::mps: return "mps";
  }
  return nullptr;
}

constexpr const char* enumeration(ApiKind) { return "api_kind"; }
constexpr const char* enumerator(ApiKind value) {
  switch (value) {
    case ApiKind::launch_kernel: return "launch_kernel";
    case ApiKind::launch_cooperative: return "launch_cooperative";
    case ApiKind::launch_graph: return "launch_graph";
    case ApiKind::launch_host_function: return "launch_host_function";
    case ApiKind::synchronize_stream: return "synchronize_stream";
    case ApiKind::synchronize_context: return "synchronize_context";
    case ApiKind::synchronize_event: return "synchronize_event";
    case ApiKind::synchronize_copy: return "synchronize_copy";
    case ApiKind::copy_async: return "copy_async";
    case ApiKind::wait_for_queue: return "wait_for_queue";
  }
  return nullptr;
}

constexpr const char* enumeration(TransferKind) { return "transfer_kind"; }
constexpr const char* enumerator(TransferKind value) {
  switch (value) {
    case TransferKind::host_to_device: return "host_to_device";
    case TransferKind::device_to_host: return "device_to_host";
    case TransferKind::device_to_device: return "device_to_device";
    case TransferKind::peer: return "peer";
    case TransferKind::memset: return "memset";
    case TransferKind::other: return "other";
  }
  return nullptr;
}

constexpr const char* enumeration(OffCpuReason) { return "off_cpu_reason"; }
constexpr const char* enumerator(OffCpuReason value) {
  switch (value) {
    case OffCpuReason::preempted: return "preempted";
    case OffCpuReason::throttled: return "throttled";
    case OffCpuReason::futex: return "futex";
    case OffCpuReason::poll: return "poll";
    case OffCpuReason::io: return "io";
    case OffCpuReason::sleep: return "sleep";
    case OffCpuReason::other: return "other";
    case OffCpuReason::unexplained: return "unexplained";
  }
  return nullptr;
}

constexpr const char* enumeration(CollectiveKind) { return "collective_kind"; }
constexpr const char* enumerator(CollectiveKind value) {
  switch (value) {
    case CollectiveKind::all_reduce: return "all_reduce";
    case CollectiveKind::all_gather: return "all_gather";
    case CollectiveKind::reduce_scatter: return "reduce_scatter";
    case CollectiveKind::broadcast: return "broadcast";
    case CollectiveKind::reduce: return "reduce";
    case CollectiveKind::all_to_all: return "all_to_all";
    case CollectiveKind::send: return "send";
    case CollectiveKind::receive: return "receive";
    case CollectiveKind::gather: return "gather";
    case CollectiveKind::scatter: return "scatter";
    case CollectiveKind::group_start: return "group_start";
    case CollectiveKind::group_end: return "group_end";
  }
  return nullptr;
}

constexpr const char* enumeration(LossKind) { return "loss_kind"; }
constexpr const char* enumerator(LossKind value) {
  switch (value) {
    case LossKind::cupti_dropped: return "cupti_dropped";
    case LossKind::bad_time: return "bad_time";
    case LossKind::batch_gap: return "batch_gap";
    case LossKind::batch_slot: return "batch_slot";
    case LossKind::table_full: return "table_full";
    case LossKind::no_reader: return "no_reader";
    case LossKind::unknown_record: return "unknown_record";
    case LossKind::buffer_allocation: return "buffer_allocation";
    case LossKind::ring_full: return "ring_full";
    case LossKind::copy_failed: return "copy_failed";
    case LossKind::unmatched: return "unmatched";
    case LossKind::map_full: return "map_full";
    case LossKind::before_attach: return "before_attach";
    case LossKind::counter_overflow: return "counter_overflow";
    case LossKind::counter_gap: return "counter_gap";
    case LossKind::sampler_died: return "sampler_died";
    case LossKind::store_failed: return "store_failed";
    case LossKind::unjoined: return "unjoined";
    case LossKind::ended_without_exit_handlers: return "ended_without_exit_handlers";
  }
  return nullptr;
}

// How many enumerators there are: they count from 0 without a gap.
template <class E>
constexpr int enumerators() {
  int count = 0;
  while (count < 256 && enumerator(static_cast<E>(count)) != nullptr) {
    ++count;
  }
  return count;
}

}  // namespace kvet::store
