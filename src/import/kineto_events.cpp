#include "import/kineto_events.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace kvet::importing {
namespace {

constexpr int64_t time_limit_ns = 4'000'000'000'000'000'000;  // as store/schema.h has it
constexpr size_t most_devices = 1024, most_process_names = 4096;
constexpr size_t longest_process_name = 256;

bool is_launch(ApiKind kind) {
  return kind == ApiKind::launch_kernel || kind == ApiKind::launch_cooperative || kind == ApiKind::launch_graph;
}

// Some threads have only an address of 64 bits for an id: its low half tells them apart.
int32_t thread_of(const KinetoEvent& event) {
  return static_cast<int32_t>(static_cast<uint32_t>(event.thread.value_or(0)));
}

bool on_device(KinetoCategory category) {
  return category == KinetoCategory::kernel || category == KinetoCategory::copy || category == KinetoCategory::memset;
}

std::string process_text(const std::optional<int64_t>& pid) {
  return pid ? fmt::format("{}", *pid) : std::string("without a number");
}

Device facts_of(const KinetoDevice& device, bool amd, EventSink& sink) {
  Device facts;
  facts.name = sink.intern(device.name);
  facts.memory_bytes = device.memory_bytes;
  facts.multiprocessors = device.multiprocessors;
  if (amd || device.warp_size != 32) {
    return facts;  // NVIDIA's compute capabilities and limits say nothing of another vendor's
  }
  facts.compute_major = device.compute_major;
  facts.compute_minor = device.compute_minor;
  facts.max_warps_per_multiprocessor = device.threads_per_multiprocessor / 32;
  facts.max_registers_per_multiprocessor = device.registers_per_multiprocessor;
  facts.max_shared_bytes_per_multiprocessor = device.shared_bytes_per_multiprocessor;
  facts.max_shared_bytes_per_block = device.shared_bytes_per_block;
  return facts;
}

}  // namespace

KinetoEvents::KinetoEvents(EventSink* sink, Entities* entities, size_t file, std::string path, int64_t shift_ns)
    : sink_(sink), entities_(entities), file_(file), path_(std::move(path)), shift_ns_(shift_ns) {
  if (sink_ != nullptr) {
    process_ = entities_->process(file, 0);  // its pid comes later: finish() tells it
  }
}

// Empty: no such times can be, and the event is counted as lost.
std::optional<KinetoEvents::Times> KinetoEvents::times_of(const KinetoEvent& event) {
  if (!event.has_start || !event.has_duration) {
    quarantine(LossKind::unknown_record);
    return std::nullopt;
  }
  // Kineto has written kernels with neither start nor length (kineto #109).
  const bool nothing = on_device(event.category) && event.start_ns == 0 && event.duration_ns == 0;
  if (!event.start_ns || !event.duration_ns || *event.duration_ns < 0 || nothing) {
    quarantine(LossKind::bad_time);
    return std::nullopt;
  }
  // Each is within ±4e18 and so is their sum's first step: none overflows.
  const int64_t start = *event.start_ns + shift_ns_;
  if (start < -time_limit_ns || start > time_limit_ns || *event.duration_ns > time_limit_ns - start) {
    quarantine(LossKind::bad_time);
    return std::nullopt;
  }
  const Times times{start, start + *event.duration_ns};
  summary_.first_ns = std::min(summary_.first_ns.value_or(times.start_ns), times.start_ns);
  summary_.last_ns = std::max(summary_.last_ns.value_or(times.end_ns), times.end_ns);
  return times;
}

// A profiler sees its own process. Two in one file are several traces put together, and correlation ids mean two things then.
Result<void> KinetoEvents::same_process(const KinetoEvent& event) {
  if (!host_known_) {
    host_known_ = true;
    summary_.pid = event.process;
  } else if (summary_.pid != event.process) {
    return fail(ErrorKind::bad_input,
                fmt::format("holds calls of two processes, {} and {} (the event at byte {}): several traces merged "
                            "into one",
                            process_text(summary_.pid), process_text(event.process), event.position),
                path_, "Import the ranks' own files together");
  }
  return {};
}

Result<DeviceId> KinetoEvents::device_of(const KinetoEvent& event) {
  // Where the arguments lack it, the event's "pid" is the device.
  const uint32_t ordinal = event.device.value_or(
      event.process && *event.process >= 0 && *event.process <= UINT32_MAX ? static_cast<uint32_t>(*event.process) : 0);
  const auto [known, added] = devices_.try_emplace(ordinal);
  if (added) {
    if (devices_.size() > most_devices) {
      return fail(ErrorKind::bad_input,
                  fmt::format("names more than {} devices, the last at byte {}", most_devices, event.position), path_,
                  "No machine has as many: profile again, or import the ranks' own files");
    }
    // CUDA_VISIBLE_DEVICES gives each process ordinals of its own: the same number in another file is another device.
    known->second = entities_->device(fmt::format("file {}", file_), ordinal);
  }
  return known->second;
}

Result<void> KinetoEvents::on_execution(const KinetoEvent& event) {
  const auto times = times_of(event);
  if (!times || sink_ == nullptr) {
    return {};
  }
  const auto device = device_of(event);
  if (!device) {
    return std::unexpected(device.error());
  }
  KernelShape shape;
  shape.name = sink_->intern(event.name);
  shape.grid = event.grid;
  // The occupancy that a block allows needs its registers: without them the block is left unknown too, so that nothing is
  // modelled from half of the facts.
  shape.block = event.registers ? event.block : std::array<uint32_t, 3>{};
  shape.registers_per_thread = event.registers.value_or(0);
  shape.dynamic_shared_bytes =
      event.shared_bytes.value_or(0);  // static and dynamic together: the file has the sum alone
  Execution execution;
  execution.process = process_;
  execution.device = *device;
  execution.shape = entities_->shape(shape);
  execution.context_id = event.context.value_or(0);
  execution.stream_id = event.stream.value_or(0);
  execution.correlation_id = event.correlation.value_or(0);
  execution.graph_id = event.graph.value_or(0);
  execution.graph_node_id = event.graph_node.value_or(0);
  execution.start_ns = times->start_ns;
  execution.end_ns = times->end_ns;
  summary_.graph_nodes += execution.graph_node_id != 0 ? 1 : 0;
  sink_->on(execution);
  return {};
}

Result<void> KinetoEvents::on_transfer(const KinetoEvent& event) {
  const auto times = times_of(event);
  if (!times || sink_ == nullptr) {
    return {};
  }
  const auto device = device_of(event);
  if (!device) {
    return std::unexpected(device.error());
  }
  Transfer transfer;
  transfer.process = process_;
  transfer.device = *device;
  transfer.kind = event.category == KinetoCategory::memset ? TransferKind::memset : copy_kind_of(event.name);
  transfer.context_id = event.context.value_or(0);
  transfer.stream_id = event.stream.value_or(0);
  transfer.correlation_id = event.correlation.value_or(0);
  transfer.graph_id = event.graph.value_or(0);
  transfer.graph_node_id = event.graph_node.value_or(0);
  transfer.bytes = event.bytes.value_or(0);
  transfer.start_ns = times->start_ns;
  transfer.end_ns = times->end_ns;
  sink_->on(transfer);
  return {};
}

// Newer versions list a launch twice, as the runtime's call and as the driver's inside it, with one correlation id.
bool KinetoEvents::first_launch(uint32_t correlation) {
  if (correlation == 0) {
    return true;
  }
  uint64_t& word = launches_[correlation >> 12][correlation >> 6 & 63];
  const uint64_t bit = uint64_t{1} << (correlation & 63);
  const bool first = (word & bit) == 0;
  word |= bit;
  return first;
}

void KinetoEvents::on_call(const KinetoEvent& event) {
  const auto times = times_of(event);
  const uint32_t correlation = event.correlation.value_or(0);
  if (!times || sink_ == nullptr || !event.api_kind || (is_launch(*event.api_kind) && !first_launch(correlation))) {
    return;
  }
  ApiCall call;
  call.process = process_;
  call.thread_id = thread_of(event);
  call.kind = *event.api_kind;
  call.source = Source::imported;
  call.correlation_id = correlation;
  call.start_ns = times->start_ns;
  call.end_ns = times->end_ns;
  summary_.graph_launches += call.kind == ApiKind::launch_graph ? 1 : 0;
  sink_->on(call);
}

Result<void> KinetoEvents::on(const KinetoEvent& event) {
  if (event.process_name) {
    if (event.process && process_names_.size() < most_process_names) {
      process_names_[*event.process] = event.label.substr(0, longest_process_name);
    }
    return {};
  }
  if (event.category == KinetoCategory::kernel) {
    return on_execution(event);
  }
  if (on_device(event.category)) {
    return on_transfer(event);
  }
  if (auto same = same_process(event); !same) {
    return same;
  }
  if (event.category == KinetoCategory::api) {
    on_call(event);
    return {};
  }
  const auto times = times_of(event);
  if (!times || sink_ == nullptr) {
    return {};
  }
  if (event.category == KinetoCategory::annotation) {
    ++summary_.ranges;
    sink_->on(Range{process_, thread_of(event), sink_->intern(event.name), {}, times->start_ns, times->end_ns});
  } else if (auto call = collectives_.call_of(event.collective)) {
    ++summary_.collectives;
    call->process = process_;
    call->thread_id = thread_of(event);
    call->start_ns = times->start_ns;
    call->end_ns = times->end_ns;
    collectives_.used_at(call->communicator, times->start_ns);
    sink_->on(*call);
  }
  return {};
}

void KinetoEvents::describe_devices(const KinetoFacts& facts) {
  for (const auto& [ordinal, id] : devices_) {
    auto found = std::ranges::find(facts.devices, ordinal, &KinetoDevice::ordinal);
    if (found == facts.devices.end() && facts.devices.size() == 1 && devices_.size() == 1) {
      found = facts.devices
                  .begin();  // roctracer counts the CPUs in: the only one that ran anything is the only one there is
    }
    if (found != facts.devices.end()) {
      const bool amd = facts.amd || found->name.starts_with("AMD ");
      Device device = facts_of(*found, amd, *sink_);
      device.driver_version = sink_->intern(facts.cuda_driver_version);
      entities_->describe(id, device);
    }
  }
}

void KinetoEvents::finish(const KinetoFacts& facts) {
  for (const auto& [kind, count] : quarantined_) {
    summary_.quarantined += count;
  }
  if (sink_ == nullptr) {
    return;
  }
  Process process;
  process.start_ns = summary_.first_ns.value_or(0);
  if (summary_.pid && *summary_.pid >= 0 && *summary_.pid <= INT32_MAX) {
    process.pid = static_cast<int32_t>(*summary_.pid);
    if (const auto name = process_names_.find(*summary_.pid); name != process_names_.end()) {
      process.name = sink_->intern(name->second);
    }
  }
  entities_->describe(process_, process);
  describe_devices(facts);
  collectives_.finish(*sink_, process_, facts.rank);
  for (const auto& [kind, count] : quarantined_) {
    Loss loss;
    loss.source = Source::imported;
    loss.kind = kind;
    loss.process = process_;
    loss.count = count;
    sink_->on(loss);
  }
}

}  // namespace kvet::importing
