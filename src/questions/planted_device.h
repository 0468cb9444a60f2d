// For tests: a device whose executions have planted warps and bandwidth, and counter samples that are the exact integrals of
// them. The clock runs at 1 GHz, so a cycle is a nanosecond. None of kvet's arithmetic is used.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "model/capture.h"
#include "questions/questions.h"

namespace kvet::questions {

// What an execution does to the device while it runs, as totals over all SMs.
struct PlantedLoad {
  double warps = 0;
  double read_bytes_per_ns = 0, write_bytes_per_ns = 0;
  double active_sms = 132;
  double registers = 0, shared_bytes = 0;
};

class PlantedDevice {
 public:
  static constexpr double sms = 132, warps_per_sm = 64, slots = sms * warps_per_sm;
  static constexpr double peak_bytes_per_s = 4.8e12;

  Capture capture;

  PlantedDevice() {
    capture.path = "planted";
    capture.complete = true;
    capture.meta["tier"] = "full";
    capture.meta["counters.status"] = "ok";
    capture.processes.resize(2);
    capture.processes[1].id = {1};
    Device device;
    device.compute_major = 9;
    device.multiprocessors = 132;
    device.max_warps_per_multiprocessor = 64;
    device.max_blocks_per_multiprocessor = 32;
    device.max_registers_per_multiprocessor = 65536;
    device.max_shared_bytes_per_multiprocessor = 228 * 1024;
    device.memory_bandwidth_bytes_per_s = static_cast<uint64_t>(peak_bytes_per_s);
    device.l2_bytes = 48'000'000;  // drains in 10 us: the guard band is 20 us
    capture.devices.push_back(device);
    align(0);
  }

  // residual < 0: not verified.
  void align(int64_t residual_ns) {
    ClockMapping mapping;
    mapping.source = ClockSource::counters;
    mapping.device = DeviceId{0};
    if (residual_ns >= 0) {
      mapping.residual_ns = residual_ns;
    }
    capture.clock_mappings = {mapping};
  }

  ShapeId kernel(const std::string& name, uint32_t threads = 256, uint32_t registers = 32, uint32_t shared = 0,
                 uint32_t grid = 1056) {
    KernelShape shape;
    shape.id = {static_cast<uint32_t>(capture.shapes.size())};
    const auto known = std::ranges::find(capture.strings, name);
    shape.name = {static_cast<uint32_t>(known - capture.strings.begin())};
    if (known == capture.strings.end()) {
      capture.strings.push_back(name);
    }
    shape.grid = {grid, 1, 1};
    shape.block = {threads, 1, 1};
    shape.registers_per_thread = registers;
    shape.dynamic_shared_bytes = shared;
    capture.shapes.push_back(shape);
    return shape.id;
  }

  using Load = PlantedLoad;

  Execution& run(ShapeId shape, uint32_t stream, int64_t from, int64_t to, const Load& load = {}) {
    Execution execution;
    execution.shape = shape;
    execution.context_id = 1;
    execution.stream_id = stream;
    execution.correlation_id = static_cast<uint32_t>(capture.executions.size()) + 1;
    execution.start_ns = from;
    execution.end_ns = to;
    capture.executions.push_back(execution);
    loads_.push_back({from, to, load});
    return capture.executions.back();
  }
  // Warps and bytes of nobody that was recorded.
  void ghost(int64_t from, int64_t to, const Load& load) { loads_.push_back({from, to, load}); }
  void transfer(int64_t from, int64_t to, double bytes_per_ns) {
    Transfer transfer;
    transfer.start_ns = from;
    transfer.end_ns = to;
    transfer.kind = TransferKind::host_to_device;
    capture.transfers.push_back(transfer);
    Load load;
    load.write_bytes_per_ns = bytes_per_ns;
    load.active_sms = 0;
    loads_.push_back({from, to, load});
  }

  // Samples [from, from + step), … up to `to`. Call last: it sorts the executions.
  void sample(int64_t from, int64_t to, int64_t step) {
    std::ranges::stable_sort(capture.executions, {}, &Execution::start_ns);
    std::ranges::stable_sort(loads_, {}, &Loaded::from);
    size_t first = 0;
    int64_t longest = 0;
    for (const Loaded& each : loads_) {
      longest = std::max(longest, each.to - each.from);
    }
    for (int64_t start = from; start < to; start += step) {
      const int64_t end = start + step;
      Sample sample;
      sample.start_ns = start;
      sample.end_ns = end;
      sample.cycles_elapsed = static_cast<double>(step);
      double active = 0, warps = 0, read = 0, write = 0, registers = 0, shared = 0;
      while (first < loads_.size() && loads_[first].from + longest <= start) {
        ++first;
      }
      for (size_t i = first; i < loads_.size() && loads_[i].from < end; ++i) {
        const Loaded& each = loads_[i];
        const double part = static_cast<double>(std::min(end, each.to) - std::max(start, each.from));
        if (part > 0) {
          warps += part * each.load.warps;
          read += part * each.load.read_bytes_per_ns;
          write += part * each.load.write_bytes_per_ns;
          active += part * each.load.active_sms;
          registers += part * each.load.registers;
          shared += part * each.load.shared_bytes;
        }
      }
      sample.warp_cycles = warps;
      sample.sm_active_cycles = std::min(active, sms * static_cast<double>(step));
      sample.dram_read_bytes = read;
      sample.dram_write_bytes = write;
      sample.register_cycles = registers;
      sample.shared_byte_cycles = shared;
      capture.samples.push_back(sample);
    }
  }

  [[nodiscard]] KernelSet set(const std::string& pattern) const {
    auto selected = select_kernels(capture, {pattern});
    return selected ? *selected : KernelSet{};
  }

 private:
  struct Loaded {
    int64_t from, to;
    Load load;
  };
  std::vector<Loaded> loads_;
};

// The finding with that id (and about that sibling), or nullptr.
inline const Finding* find(const std::vector<Finding>& findings, std::string_view id, std::string_view beside = {}) {
  for (const Finding& finding : findings) {
    if (finding.id == id && (beside.empty() || finding.beside == beside)) {
      return &finding;
    }
  }
  return nullptr;
}

}  // namespace kvet::questions
