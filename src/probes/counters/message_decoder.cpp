#include "probes/counters/message_decoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kvet::probes {
namespace {

// The one size that a message of this kind has; 0: there is no such kind.
size_t size_of(uint32_t kind) {
  switch (kind) {
    case KVET_SAMPLER_HELLO: return sizeof(kvet_sampler_hello);
    case KVET_SAMPLER_DEVICE: return sizeof(kvet_sampler_device);
    case KVET_SAMPLER_CLOCK: return sizeof(kvet_sampler_clock);
    case KVET_SAMPLER_SAMPLE: return sizeof(kvet_sampler_sample);
    case KVET_SAMPLER_READING: return sizeof(kvet_sampler_reading);
    case KVET_SAMPLER_LOSS: return sizeof(kvet_sampler_loss);
    case KVET_SAMPLER_STATUS: return sizeof(kvet_sampler_status);
    case KVET_SAMPLER_READY: return sizeof(kvet_sampler_ready);
    case KVET_SAMPLER_END: return sizeof(kvet_sampler_end);
    case KVET_SAMPLER_ANCHOR: return sizeof(kvet_sampler_anchor);
    default: return 0;
  }
}

template <class Message>
Message read(std::span<const std::byte> bytes) {
  Message message;
  std::memcpy(&message, bytes.data(), sizeof(message));
  return message;
}

std::unexpected<Error> broken(std::string what) {
  return fail(ErrorKind::internal, "the counter sampler's messages cannot be read: " + std::move(what));
}

template <size_t size>
std::string_view text(const char (&field)[size]) {
  return {field, strnlen(field, size)};
}

LossKind loss_kind(uint32_t loss) {
  switch (loss) {
    case KVET_SAMPLER_LOSS_OVERFLOW:
    case KVET_SAMPLER_LOSS_UNDRAINED: return LossKind::counter_overflow;
    case KVET_SAMPLER_LOSS_PIPE: return LossKind::ring_full;
    case KVET_SAMPLER_LOSS_BAD_TIME: return LossKind::bad_time;
    default: return LossKind::counter_gap;
  }
}

}  // namespace

Result<void> MessageDecoder::feed(EventSink& sink, std::span<const std::byte> bytes) {
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  size_t used = 0;
  while (pending_.size() - used >= sizeof(kvet_sampler_header)) {
    const std::span<const std::byte> rest = std::span(pending_).subspan(used);
    const auto header = read<kvet_sampler_header>(rest);
    const size_t size = size_of(header.kind);
    if (size == 0 || size != header.size) {
      return broken(fmt::format("kind {}, {} bytes", header.kind, header.size));
    }
    if (rest.size() < size) {
      break;
    }
    if (auto done = message(sink, rest.first(size)); !done) {
      return done;
    }
    used += size;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(used));
  return {};
}

Result<void> MessageDecoder::message(EventSink& sink, std::span<const std::byte> bytes) {
  const auto kind = read<kvet_sampler_header>(bytes).kind;
  if (!hello_ && kind != KVET_SAMPLER_HELLO) {
    return broken("the first one is no greeting");
  }
  const auto gpu = [&](uint32_t index) -> Gpu* {
    auto found = gpus_.find(index);
    return found == gpus_.end() ? nullptr : &found->second;
  };
  const auto for_gpu = [&](uint32_t index, auto&& act) -> Result<void> {
    Gpu* found = gpu(index);
    if (found == nullptr) {
      return broken(fmt::format("GPU {} was never announced", index));
    }
    act(*found);
    return {};
  };

  switch (kind) {
    case KVET_SAMPLER_HELLO: {
      const auto hello = read<kvet_sampler_hello>(bytes);
      if (hello.version != KVET_SAMPLER_VERSION) {
        return fail(
            ErrorKind::unavailable,
            fmt::format("the counter sampler speaks version {}, this recorder {}", hello.version, KVET_SAMPLER_VERSION),
            {}, "The kvet program was replaced while it ran: start it again");
      }
      hello_ = true;
      return {};
    }
    case KVET_SAMPLER_DEVICE: on_device(sink, read<kvet_sampler_device>(bytes)); return {};
    case KVET_SAMPLER_CLOCK: {
      const auto clock = read<kvet_sampler_clock>(bytes);
      return for_gpu(clock.device, [&](Gpu& found) { on_clock(sink, clock, found); });
    }
    case KVET_SAMPLER_ANCHOR: {
      const auto anchor = read<kvet_sampler_anchor>(bytes);
      return for_gpu(anchor.device, [&](Gpu& found) { on_anchor(sink, anchor, found); });
    }
    case KVET_SAMPLER_SAMPLE: {
      const auto sample = read<kvet_sampler_sample>(bytes);
      return for_gpu(sample.device, [&](Gpu& found) { on_sample(sink, sample, found); });
    }
    case KVET_SAMPLER_READING: {
      const auto reading = read<kvet_sampler_reading>(bytes);
      return for_gpu(reading.device, [&](Gpu& found) { on_reading(sink, reading, found); });
    }
    case KVET_SAMPLER_LOSS: {
      const auto loss = read<kvet_sampler_loss>(bytes);
      return for_gpu(loss.device, [&](Gpu& found) { on_loss(sink, loss, found); });
    }
    case KVET_SAMPLER_STATUS: on_status(read<kvet_sampler_status>(bytes)); return {};
    case KVET_SAMPLER_READY: ready_ = true; return {};
    case KVET_SAMPLER_END:
      end_ = read<kvet_sampler_end>(bytes);
      ready_ = true;
      ended_ = true;
      return {};
    default: return broken(fmt::format("kind {}", kind));
  }
}

void MessageDecoder::on_device(EventSink& sink, const kvet_sampler_device& seen) {
  Device device;
  std::copy(std::begin(seen.uuid), std::end(seen.uuid), device.uuid.begin());
  device.name = sink.intern(text(seen.name));
  device.compute_major = seen.compute_major;
  device.compute_minor = seen.compute_minor;
  device.multiprocessors = seen.multiprocessors;
  device.max_warps_per_multiprocessor = seen.max_warps_per_multiprocessor;
  device.max_blocks_per_multiprocessor = seen.max_blocks_per_multiprocessor;
  device.max_registers_per_multiprocessor = seen.max_registers_per_multiprocessor;
  device.max_shared_bytes_per_multiprocessor = seen.max_shared_bytes_per_multiprocessor;
  device.max_shared_bytes_per_block = seen.max_shared_bytes_per_block;
  device.memory_bytes = seen.memory_bytes;
  device.memory_bandwidth_bytes_per_s = seen.memory_bandwidth_bytes_per_s;
  device.l2_bytes = seen.l2_bytes;
  driver_version_ = std::string(text(seen.driver_version));
  device.driver_version = sink.intern(driver_version_);
  if (seen.power_limit_milliwatts != 0) {
    device.power_limit_milliwatts = seen.power_limit_milliwatts;
  }
  gpus_[seen.index].id = directory_.add(sink, device);
}

void MessageDecoder::on_clock(EventSink& sink, const kvet_sampler_clock& clock, Gpu& gpu) {
  // The middle of the bounds; nobody has checked it against an execution, so it has no residual.
  const uint64_t middle = clock.earliest_ns + (clock.latest_ns - clock.earliest_ns) / 2;
  gpu.clock_offset_ns = static_cast<int64_t>(middle - clock.raw_ns);
  ClockMapping mapping;
  mapping.source = ClockSource::counters;
  mapping.device = gpu.id;
  mapping.from_ns = 0;  // before every sample: alignment adds better rows behind it
  mapping.offset_ns = gpu.clock_offset_ns;
  sink.on(mapping);
}

// A mapping that holds for one moment, with its residual: alignment reads it, the capture file gets what alignment makes
// of it. And a fact about each train, so that one that failed is not missing without a word.
void MessageDecoder::on_anchor(EventSink& sink, const kvet_sampler_anchor& anchor, const Gpu& gpu) {
  constexpr uint64_t residual_limit_ns = 1'000'000'000;
  const bool before = anchor.moment == KVET_SAMPLER_BEFORE;
  std::string said(text(anchor.text));
  if (anchor.known != 0 && anchor.residual_p95_ns < residual_limit_ns) {
    ClockMapping mapping;
    mapping.source = ClockSource::counters;
    mapping.device = gpu.id;
    mapping.from_ns = static_cast<int64_t>(anchor.raw_ns);
    mapping.offset_ns = static_cast<int64_t>(anchor.monotonic_ns - anchor.raw_ns);
    mapping.residual_ns = static_cast<int64_t>(anchor.residual_ns);
    mapping.residual_p95_ns = static_cast<int64_t>(anchor.residual_p95_ns);
    sink.on(mapping);
    said = fmt::format(
        "ok: {} pulses, known to {:.2f} µs; handshakes leave {:.2f} µs open, {:.2f} µs of a pulse are not in its log",
        anchor.pulses, static_cast<double>(anchor.residual_p95_ns) / 1e3, static_cast<double>(anchor.bracket_ns) / 1e3,
        static_cast<double>(anchor.unlogged_ns) / 1e3);
  } else {
    said = "none: " + said;
  }
  std::string& all = anchors_[before ? 0 : 1];
  all += fmt::format("{}GPU {}: {}", all.empty() ? "" : "; ", gpu.id.value, said);
  sink.on(Meta{before ? "counters.pulses_before" : "counters.pulses_after", all});
}

void MessageDecoder::on_sample(EventSink& sink, const kvet_sampler_sample& raw, const Gpu& gpu) {
  const auto value = [&](kvet_counter_field field) -> std::optional<double> {
    if ((raw.known >> field & 1u) == 0 || !std::isfinite(raw.values[field]) || raw.values[field] < 0) {
      return std::nullopt;
    }
    return raw.values[field];
  };
  Sample sample;
  sample.device = gpu.id;
  sample.start_ns = static_cast<int64_t>(raw.start_ns);
  sample.end_ns = static_cast<int64_t>(raw.end_ns);
  sample.cycles_elapsed = value(KVET_COUNTER_CYCLES_ELAPSED);
  sample.sm_active_cycles = value(KVET_COUNTER_SM_ACTIVE_CYCLES);
  sample.warp_cycles = value(KVET_COUNTER_WARP_CYCLES);
  sample.warps_max = value(KVET_COUNTER_WARPS_MAX);
  sample.warps_min = value(KVET_COUNTER_WARPS_MIN);
  sample.register_cycles = value(KVET_COUNTER_REGISTER_CYCLES);
  sample.shared_byte_cycles = value(KVET_COUNTER_SHARED_BYTE_CYCLES);
  sample.warps_launched = value(KVET_COUNTER_WARPS_LAUNCHED);
  sample.blocks_completed = value(KVET_COUNTER_BLOCKS_COMPLETED);
  sample.dram_read_bytes = value(KVET_COUNTER_DRAM_READ_BYTES);
  sample.dram_write_bytes = value(KVET_COUNTER_DRAM_WRITE_BYTES);
  sample.instructions = value(KVET_COUNTER_INSTRUCTIONS);
  sample.tensor_cycles = value(KVET_COUNTER_TENSOR_CYCLES);
  sample.l2_sectors = value(KVET_COUNTER_L2_SECTORS);
  sample.context_switch_cycles = value(KVET_COUNTER_CONTEXT_SWITCH_CYCLES);
  sink.on(sample);
  ++samples_;
}

void MessageDecoder::on_reading(EventSink& sink, const kvet_sampler_reading& raw, const Gpu& gpu) {
  const auto known = [&](kvet_reading_field field, auto value) {
    return (raw.known & field) != 0 ? std::optional(value) : std::nullopt;
  };
  DeviceReading reading;
  reading.device = gpu.id;
  reading.time_ns = static_cast<int64_t>(raw.time_ns);
  reading.power_milliwatts = known(KVET_READING_POWER, raw.power_milliwatts);
  reading.sm_clock_mhz = known(KVET_READING_SM_CLOCK, raw.sm_clock_mhz);
  reading.memory_clock_mhz = known(KVET_READING_MEMORY_CLOCK, raw.memory_clock_mhz);
  reading.temperature_celsius = known(KVET_READING_TEMPERATURE, raw.temperature_celsius);
  reading.throttle_reasons = known(KVET_READING_THROTTLE, raw.throttle_reasons);
  reading.gpm_sm_occupancy_percent = known(KVET_READING_GPM_OCCUPANCY, raw.gpm_sm_occupancy_percent);
  reading.gpm_dram_percent = known(KVET_READING_GPM_DRAM, raw.gpm_dram_percent);
  reading.gpm_sm_active_percent = known(KVET_READING_GPM_SM_ACTIVE, raw.gpm_sm_active_percent);
  sink.on(reading);
}

void MessageDecoder::on_loss(EventSink& sink, const kvet_sampler_loss& raw, const Gpu& gpu) {
  Loss loss;
  loss.source = Source::counters;
  loss.kind = loss_kind(raw.loss);
  loss.count = raw.count;
  const auto monotonic = [&](uint64_t raw_ns) {
    return raw_ns == 0 ? std::nullopt : std::optional(static_cast<int64_t>(raw_ns) + gpu.clock_offset_ns);
  };
  loss.first_ns = monotonic(raw.first_ns);
  loss.last_ns = monotonic(raw.last_ns);
  sink.on(loss);
}

void MessageDecoder::on_status(const kvet_sampler_status& status) {
  const std::string said(text(status.text));
  if (status.device == KVET_SAMPLER_ALL_DEVICES) {
    trouble_ = said;
    return;
  }
  auto found = gpus_.find(status.device);
  if (found == gpus_.end()) {
    return;
  }
  Gpu& gpu = found->second;
  switch (status.state) {
    case KVET_SAMPLER_STATE_SAMPLING:
      gpu.state = status.state;
      gpu.metrics = said;
      break;
    case KVET_SAMPLER_STATE_DEGRADED: gpu.trouble = said; break;
    default: gpu.state = status.state; gpu.trouble = said;
  }
}

bool MessageDecoder::sampling() const {
  return std::any_of(gpus_.begin(), gpus_.end(),
                     [](const auto& entry) { return entry.second.state == KVET_SAMPLER_STATE_SAMPLING; });
}

CounterMode MessageDecoder::achieved_mode() const {
  if (sampling()) {
    return CounterMode::performance_monitor;
  }
  const bool gpm = std::any_of(gpus_.begin(), gpus_.end(),
                               [](const auto& entry) { return entry.second.state == KVET_SAMPLER_STATE_GPM; });
  return gpm ? CounterMode::gpm : CounterMode::off;
}

std::string MessageDecoder::status() const {
  if (!trouble_.empty()) {
    return trouble_;
  }
  if (asked_ == CounterMode::off) {
    return "off: not asked for";
  }
  if (!ready_) {
    return "the counter sampler has not started yet";
  }
  std::string all;
  for (const auto& [index, gpu] : gpus_) {
    if (gpu.trouble.empty()) {
      continue;
    }
    if (!all.empty()) {
      all += "; ";
    }
    all += gpus_.size() == 1 ? gpu.trouble : fmt::format("GPU {}: {}", gpu.id.value, gpu.trouble);
  }
  return all.empty() ? "ok" : all;
}

std::string MessageDecoder::metrics() const {
  for (const auto& [index, gpu] : gpus_) {
    if (gpu.state == KVET_SAMPLER_STATE_SAMPLING) {
      return gpu.metrics;
    }
  }
  return {};
}

const char* name(CounterMode mode) {
  switch (mode) {
    case CounterMode::performance_monitor: return "pm";
    case CounterMode::gpm: return "gpm";
    case CounterMode::off: return "off";
  }
  return "?";
}

}  // namespace kvet::probes
