// GPU metrics of an export (`nsys profile --gpu-metrics-devices`): per sample and device, whole percents of what is possible, and
// the clock in Hz, although its name says MHz. What can be turned into sums over the device is: cycles, active SMs, resident warps,
// DRAM bytes. How far the samples' times are from those of the kernels is not in the file, so that no figure of a single kernel
// comes from them, only those of the device.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "import/missing.h"
#include "import/nsys_import.h"

namespace kvet::importing {
namespace {

enum class Metric : uint8_t { clock, sms_active, warps, dram_read, dram_write };
constexpr size_t metrics = 5;

// By the names of Nsight Systems (TARGET_INFO_GPU_METRICS); "Compute Warps in Flight" also comes as a mean per cycle.
std::optional<Metric> metric_of(std::string_view name) {
  const bool percent = name.find("[Throughput %]") != std::string_view::npos;
  if (name.starts_with("GPC Clock Frequency")) {
    return Metric::clock;
  }
  if (percent && name.starts_with("SMs Active")) {
    return Metric::sms_active;
  }
  if (percent && name.starts_with("Compute Warps in Flight")) {
    return Metric::warps;
  }
  if (percent && (name.starts_with("DRAM Read Bandwidth") || name.starts_with("DRAM Read Throughput"))) {
    return Metric::dram_read;
  }
  if (percent && (name.starts_with("DRAM Write Bandwidth") || name.starts_with("DRAM Write Throughput"))) {
    return Metric::dram_write;
  }
  return std::nullopt;
}

struct Reading {
  int64_t type = 0, time_ns = 0;
  Metric metric = Metric::clock;
  double value = 0;
};

using Names = std::map<std::pair<int64_t, int64_t>, Metric>;  // by type and metric
Result<Names> names_of(const NsysFile& file) {
  Names names;
  auto rows = NsysRows::select(file, "TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (rows->next()) {
    const auto type = rows->integer(0), id = rows->integer(1);
    const auto name = rows->text(2);
    const auto metric = name ? metric_of(*name) : std::nullopt;
    if (type && id && metric) {
      names.emplace(std::pair{*type, *id}, *metric);
    }
  }
  if (auto ended = rows->end(); !ended) {
    return std::unexpected(ended.error());
  }
  return names;
}

Result<std::vector<Reading>> readings_of(NsysImport& import, const Names& names) {
  std::vector<Reading> readings;
  auto rows = NsysRows::select(import.file, "GPU_METRICS", {"timestamp", "typeId", "metricId", "value"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (rows->next()) {
    const auto time = rows->integer(0), type = rows->integer(1), id = rows->integer(2), value = rows->integer(3);
    if (rows->wrong_type()) {
      return rows->refuse_type();
    }
    const auto named = type && id ? names.find({*type, *id}) : names.end();
    if (named == names.end()) {
      continue;
    }
    constexpr int64_t slowest_hz = 1'000'000, fastest_hz = 10'000'000'000;
    const bool possible = value && (named->second == Metric::clock ? *value >= slowest_hz && *value <= fastest_hz
                                                                   : *value >= 0 && *value <= 100);
    if (!possible) {
      import.lose(LossKind::unknown_record);
    } else if (const auto when = import.times(time, time)) {
      readings.push_back({*type, when->start_ns, named->second, static_cast<double>(*value)});
    }
  }
  if (auto ended = rows->end(); !ended) {
    return std::unexpected(ended.error());
  }
  return readings;
}

using Values = std::array<std::optional<double>, metrics>;
Sample sample_of(const Values& values, const Device& device, DeviceId id, int64_t from_ns, int64_t to_ns) {
  const auto value = [&](Metric metric) { return values[static_cast<size_t>(metric)]; };
  const double seconds = static_cast<double>(to_ns - from_ns) / 1e9;
  Sample sample;
  sample.device = id;
  sample.start_ns = from_ns;
  sample.end_ns = to_ns;
  if (const auto clock = value(Metric::clock)) {
    sample.cycles_elapsed = *clock * seconds;
    const double sm_cycles = *sample.cycles_elapsed * device.multiprocessors;
    if (const auto percent = value(Metric::sms_active); percent && sm_cycles > 0) {
      sample.sm_active_cycles = *percent / 100 * sm_cycles;
    }
    if (const auto percent = value(Metric::warps);
        percent && sm_cycles > 0 && device.max_warps_per_multiprocessor > 0) {
      sample.warp_cycles = *percent / 100 * sm_cycles * device.max_warps_per_multiprocessor;
    }
  }
  const double peak_bytes = static_cast<double>(device.memory_bandwidth_bytes_per_s) * seconds;
  if (const auto percent = value(Metric::dram_read); percent && peak_bytes > 0) {
    sample.dram_read_bytes = *percent / 100 * peak_bytes;
  }
  if (const auto percent = value(Metric::dram_write); percent && peak_bytes > 0) {
    sample.dram_write_bytes = *percent / 100 * peak_bytes;
  }
  return sample;
}

// The readings of one device, by time. A sample is taken to reach from the time stamp before to its own; where samples are missing
// in between, it is as long as the others.
uint64_t deliver(NsysImport& import, const std::vector<Reading>& readings, size_t from, size_t to, const Device& device,
                 DeviceId id, int64_t& interval_ns) {
  std::vector<int64_t> lengths;
  std::optional<int64_t> last;
  for (size_t i = from; i < to; ++i) {
    if (last && readings[i].time_ns > *last) {
      lengths.push_back(readings[i].time_ns - *last);
    }
    last = readings[i].time_ns;
  }
  if (lengths.empty()) {
    return 0;
  }
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::ranges::nth_element(lengths, middle);
  interval_ns = *middle;
  uint64_t samples = 0;
  std::optional<int64_t> before;
  for (size_t i = from; i < to;) {
    const int64_t time = readings[i].time_ns;
    Values values;
    for (; i < to && readings[i].time_ns == time; ++i) {
      values[static_cast<size_t>(readings[i].metric)] = readings[i].value;
    }
    const bool adjoins = before && time - *before <= 2 * interval_ns;
    import.sink.on(sample_of(values, device, id, adjoins ? *before : time - interval_ns, time));
    before = time;
    ++samples;
  }
  return samples;
}

}  // namespace

Result<void> read_metrics(NsysImport& import) {
  constexpr const char* flag = "Profile again with `nsys profile --gpu-metrics-devices=all`";
  if (!import.file.has("GPU_METRICS") || !import.file.has("TARGET_INFO_GPU_METRICS")) {
    say_no_counters(import.sink, "the file holds no GPU metrics", flag);
    return {};
  }
  const auto names = names_of(import.file);
  if (!names) {
    return std::unexpected(names.error());
  }
  auto readings = readings_of(import, *names);
  if (!readings) {
    return std::unexpected(readings.error());
  }
  std::ranges::stable_sort(*readings, {}, [](const Reading& r) { return std::tuple(r.type, r.time_ns); });
  uint64_t samples = 0;
  int64_t interval_ns = 0;
  for (size_t from = 0, to = 0; from < readings->size(); from = to) {
    const int64_t type = (*readings)[from].type;
    while (to < readings->size() && (*readings)[to].type == type) {
      ++to;
    }
    // A type names machine and GPU: its upper bits are those of a global id, the lowest byte is TARGET_INFO_GPU's id.
    const uint32_t machine = global_id(type).machine;
    const int64_t gpu = type & 0xff;
    const Device* device = import.devices.facts(machine, gpu);
    const auto id = import.devices.of_gpu(machine, gpu);
    if (device != nullptr && id) {
      samples += deliver(import, *readings, from, to, *device, *id, interval_ns);
    }
  }
  if (samples == 0) {
    say_no_counters(import.sink, "the file's GPU metrics name none of its GPUs, or hold none that kvet knows", flag);
    return {};
  }
  import.sink.on(ClockMapping{.source = ClockSource::counters,
                              .device = {},
                              .residual_ns = {},
                              .residual_p95_ns = {},
                              .start_bias_ns = {},
                              .end_bias_ns = {}});
  import.sink.on(Meta{"counters.mode", "imported"});
  import.sink.on(Meta{"counters.status", "ok"});
  import.sink.on(Meta{"counters.interval_ns", std::to_string(interval_ns)});
  import.sink.on(Meta{"counters.metrics",
                      "cycles, active SMs, resident warps, DRAM reads and writes, from whole percents of "
                      "the theoretical peak"});
  import.sink.on(Meta{"counters.alignment",
                      "not aligned: Nsight Systems does not say how far its samples' clock is from that "
                      "of its kernels"});
  return {};
}

}  // namespace kvet::importing
