// Captures with a known truth, for the tests of the verdict.
#pragma once

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
Capture planted_loop(const PlantedLoop& loop, const std::string& path);

// The experiment.* facts of a block of a quad.
void place(Capture& capture, const std::string& arm, const std::string& kind, int quad, int position);

}  // namespace kvet::verdict::testing
