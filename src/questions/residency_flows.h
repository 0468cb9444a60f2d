// What conservation leaves to each execution: blocks that it launched less blocks that it completed.
//
// Warps launched and blocks completed are counted exactly, for the whole device. From a moment at which the device is idle on, and as
// long as no sample is missing, every execution that has ended launched and completed its grid, so what is counted beyond those
// belongs to the executions under way: P blocks completed, Q warps launched. Of each of these (grid G, w warps per block):
//
//   completed  max(0, P − Σ others' G) ≤ D ≤ min(G, P − Σ G of the others that have ended)
//   launched   max(0, Q − Σ others' w·G) ÷ w ≤ A ≤ min(G, (Q − Σ w·G of the others that have ended) ÷ w)
//   resident   A − D
//
// and within a sample at most A at its end less D at its start, at least A at its start less D at its end. Nothing is assumed of the
// scheduler, nor of durations. Counts that contradict the executions (work that was not recorded) end it until the next idle moment.
#pragma once

#include <vector>

#include "model/capture.h"
#include "questions/residency_vectors.h"

namespace kvet::questions {

class FlowBounds {
 public:
  // `executions` of the device by start. Clocks may be `guard_ns` apart.
  FlowBounds(const std::vector<const Execution*>& executions, ShapeVectors& vectors, int64_t guard_ns);

  void restart();  // before the first sample
  void advance(const Sample& next);  // in order, every sample of the device

  struct Blocks {
    double low = 0, high = 0;
  };
  // Resident blocks at any time of the sample; `low` for the mean over it. Without a bound: 0 and infinite.
  [[nodiscard]] Blocks of(const Execution& execution) const;

 private:
  struct Active {
    const Execution* execution;
    double grid, warps;  // blocks; warps per block
    double least_launched, least_completed;  // at the start of the sample
    Blocks blocks;
  };
  struct Edge {
    double least_launched, most_launched, least_completed, most_completed;
  };
  void leave(int64_t time);

  const std::vector<const Execution*>& executions_;
  ShapeVectors& vectors_;
  int64_t guard_ns_;
  size_t next_ = 0;
  bool counted_ = false;  // since the device was idle, without a gap
  int64_t last_end_ns_ = 0, busy_until_ns_ = 0;
  double completed_ = 0, launched_ = 0;  // blocks, warps: beyond those that have left active_
  // Of the active ones at the edge in question: all that have begun, and those that have ended.
  double begun_blocks_ = 0, begun_warps_ = 0, ended_blocks_ = 0, ended_warps_ = 0;
  std::vector<Active> active_;
};

}  // namespace kvet::questions
