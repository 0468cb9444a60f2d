// Splits what samples read between the kernels that ran one after the other inside them.
#pragma once

#include <optional>

#include "model/capture.h"
#include "questions/counter_pool.h"
#include "questions/questions.h"
#include "questions/statistics.h"
#include "questions/timeline.h"

namespace kvet::questions {

// K's rate (what the counter gains per ns of K's time), where samples are too long to see K by itself: non-negative least
// squares of each sample's count on the time that each kernel had in it, over samples in which K ran, no kernels overlapped,
// and no sibling met that execution of K. It takes every kernel's rate as constant, so the result is attributed. Empty where there are fewer than 100
// such samples, or the standard error of K's rate is above a quarter of the larger of itself and `reference`: a rate that matters
// where this one may well be 0. read(sample) is the count of one sample; empty: not read.
template <class Read>
std::optional<Estimate> split_rate(const Capture& capture, const KernelSet& kernels, const DeviceTimeline& timeline,
                                   const DeviceSamples& device, const SpanSet& transfers, Read read,
                                   double reference = 0);

// The rows behind it: which kernels had how much time in which sample.
struct SplitRow {
  const Sample* sample = nullptr;
  std::vector<std::pair<size_t, double>> time_ns;  // unknown 0 is K
};
struct SplitRows {
  size_t unknowns = 1;
  std::vector<SplitRow> rows;
};
SplitRows split_rows(const Capture& capture, const KernelSet& kernels, const DeviceTimeline& timeline,
                     const DeviceSamples& device, const SpanSet& transfers);

std::optional<Estimate> split_rate(const SplitRows& rows, const std::vector<std::optional<double>>& counts,
                                   double reference);

template <class Read>
std::optional<Estimate> split_rate(const Capture& capture, const KernelSet& kernels, const DeviceTimeline& timeline,
                                   const DeviceSamples& device, const SpanSet& transfers, Read read, double reference) {
  const SplitRows rows = split_rows(capture, kernels, timeline, device, transfers);
  std::vector<std::optional<double>> counts;
  counts.reserve(rows.rows.size());
  for (const SplitRow& row : rows.rows) {
    counts.push_back(read(*row.sample));
  }
  return split_rate(rows, counts, reference);
}

}  // namespace kvet::questions
