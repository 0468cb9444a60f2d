// Captures with a known truth, for tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/capture.h"

namespace kvet::verdict::testing {

// Builds a capture event by event. Streams and graphs are plain numbers; every execution gets a launch record.
class PlantedCapture {
 public:
  explicit PlantedCapture(const std::string& path = "planted.kvet");

  StringId text(const std::string& value);
  ShapeId kernel(const std::string& name, uint64_t code_hash = 0, uint32_t grid = 1);

  // A kernel launched on its own: the host call ends before the execution starts.
  void run(ShapeId shape, int64_t start, int64_t end, uint32_t stream = 1);
  // One replay of a graph: nodes in order, each (shape, start, end, stream). Node ids count from 1.
  struct Node {
    ShapeId shape;
    int64_t start, end;
    uint32_t stream = 1;
  };
  void replay(uint32_t graph, const std::vector<Node>& nodes);
  void range(const std::string& name, int64_t start, int64_t end, int32_t thread = 100);
  void fact(const std::string& key, const std::string& value);
  void copy(int64_t start, int64_t end, uint32_t stream = 9);

  // Sorted, complete, in the device tier, on one GPU.
  [[nodiscard]] Capture finish() const;
  Capture capture;

 private:
  uint32_t next_correlation_ = 1;
};

// A serving loop: `steps` NVTX ranges "step N" of 1000 µs each on one thread; in each, the kernels of the arm one after
// the other, and "gemm", which both arms run. Durations in µs.
struct PlantedLoop {
  std::vector<std::pair<std::string, double>> set_kernels;
  double gemm_us = 300;
  int steps = 64;
  double jitter = 0;  // ± this share, alternating deterministically
  bool sibling = false;  // "sibling" runs on another stream during the second half of every set kernel
};

inline PlantedCapture::PlantedCapture(const std::string& path) {
  capture.path = path;
  capture.complete = true;
  capture.meta["tier"] = "device";
  capture.processes.push_back({ProcessId{0}, 100, 1});
  Device device;
  device.id = DeviceId{0};
  device.uuid = {0xaa, 0xbb, 0xcc, 0xdd};
  device.name = text("Planted GPU");
  device.driver_version = text("1.2.3");
  device.power_limit_milliwatts = 700000;
  capture.devices.push_back(device);
}

inline StringId PlantedCapture::text(const std::string& value) {
  for (uint32_t i = 0; i < capture.strings.size(); ++i) {
    if (capture.strings[i] == value) {
      return StringId{i};
    }
  }
  capture.strings.push_back(value);
  return StringId{static_cast<uint32_t>(capture.strings.size() - 1)};
}

inline ShapeId PlantedCapture::kernel(const std::string& name, uint64_t code_hash, uint32_t grid) {
  KernelShape shape;
  shape.id = ShapeId{static_cast<uint32_t>(capture.shapes.size())};
  shape.name = text(name);
  shape.grid = {grid, 1, 1};
  shape.block = {128, 1, 1};
  shape.code_hash = code_hash;
  capture.shapes.push_back(shape);
  return shape.id;
}

inline void PlantedCapture::run(ShapeId shape, int64_t start, int64_t end, uint32_t stream) {
  ApiCall call;
  call.thread_id = 100;
  call.correlation_id = next_correlation_++;
  call.start_ns = start - 10;
  call.end_ns = start - 5;
  capture.api_calls.push_back(call);
  Execution execution;
  execution.shape = shape;
  execution.stream_id = stream;
  execution.correlation_id = call.correlation_id;
  execution.start_ns = start;
  execution.end_ns = end;
  capture.executions.push_back(execution);
}

inline void PlantedCapture::replay(uint32_t graph, const std::vector<Node>& nodes) {
  ApiCall call;
  call.thread_id = 100;
  call.kind = ApiKind::launch_graph;
  call.correlation_id = next_correlation_++;
  call.start_ns = nodes.front().start - 10;
  call.end_ns = nodes.front().start - 5;
  capture.api_calls.push_back(call);
  for (size_t i = 0; i < nodes.size(); ++i) {
    Execution execution;
    execution.shape = nodes[i].shape;
    execution.stream_id = nodes[i].stream;
    execution.correlation_id = call.correlation_id;
    execution.graph_id = graph;
    execution.graph_node_id = i + 1;
    execution.start_ns = nodes[i].start;
    execution.end_ns = nodes[i].end;
    capture.executions.push_back(execution);
  }
}

inline void PlantedCapture::range(const std::string& name, int64_t start, int64_t end, int32_t thread) {
  Range range;
  range.thread_id = thread;
  range.name = text(name);
  range.start_ns = start;
  range.end_ns = end;
  capture.ranges.push_back(range);
}

inline void PlantedCapture::fact(const std::string& key, const std::string& value) { capture.meta[key] = value; }

inline void PlantedCapture::copy(int64_t start, int64_t end, uint32_t stream) {
  Transfer transfer;
  transfer.stream_id = stream;
  transfer.correlation_id = next_correlation_++;
  transfer.start_ns = start;
  transfer.end_ns = end;
  capture.transfers.push_back(transfer);
}

inline Capture PlantedCapture::finish() const {
  Capture result = capture;
  auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
  std::sort(result.api_calls.begin(), result.api_calls.end(), by_start);
  std::sort(result.executions.begin(), result.executions.end(), by_start);
  std::sort(result.transfers.begin(), result.transfers.end(), by_start);
  std::sort(result.ranges.begin(), result.ranges.end(), by_start);
  return result;
}

inline Capture planted_loop(const PlantedLoop& loop, const std::string& path) {
  PlantedCapture planted(path);
  ShapeId gemm = planted.kernel("gemm");
  std::vector<ShapeId> shapes;
  shapes.reserve(loop.set_kernels.size());
  for (const auto& [name, duration] : loop.set_kernels) {
    shapes.push_back(planted.kernel(name));
  }
  ShapeId sibling = loop.sibling ? planted.kernel("sibling") : ShapeId{};
  for (int step = 0; step < loop.steps; ++step) {
    const int64_t begin = 1'000'000'000 + int64_t{step} * 1'000'000;
    planted.range("step " + std::to_string(step), begin, begin + 1'000'000);
    int64_t now = begin + 50'000;
    double factor = 1 + (step % 2 == 0 ? loop.jitter : -loop.jitter);
    for (size_t i = 0; i < shapes.size(); ++i) {
      auto length = static_cast<int64_t>(std::llround(loop.set_kernels[i].second * 1000 * factor));
      planted.run(shapes[i], now, now + length);
      if (loop.sibling && step % 2 == 1) {
        planted.run(sibling, now + length / 2, now + length, 7);
      }
      now += length;
    }
    planted.run(gemm, now, now + static_cast<int64_t>(loop.gemm_us * 1000));
  }
  return planted.finish();
}

// The experiment.* facts of a block of a quad.
inline void place(Capture& capture, const std::string& arm, const std::string& kind, int quad, int position) {
  capture.meta["experiment.id"] = "planted";
  capture.meta["experiment.arm"] = arm;
  capture.meta["experiment.kind"] = kind;
  capture.meta["experiment.quad"] = std::to_string(quad);
  capture.meta["experiment.position"] = std::to_string(position);
}

}  // namespace kvet::verdict::testing
