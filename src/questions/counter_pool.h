// Brings counter samples and executions together: which samples belong to K, and how they add up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/capture.h"
#include "questions/spans.h"
#include "questions/statistics.h"
#include "questions/timeline.h"

namespace kvet::questions {

// The samples of one device with what is needed to hold them against executions.
struct DeviceSamples {
  std::vector<const Sample*> samples;  // by start
  double interval_ns = 0;              // median length
  // How far apart samples and executions may be: the 95th percentile of the alignment's residual (where that is not known,
  // three times the median, which is two standard deviations of a normal error), and the larger of the times by which
  // kernels begin late and end early. Empty: unknown, `reason` says why.
  std::optional<int64_t> guard_ns;
  std::string reason, advice;
};
DeviceSamples device_samples(const Capture& capture, DeviceId device);

// What a pool counts: numerator and denominator of one sample, for the part of it that K ran (ns). Empty: not read.
struct PoolTerm {
  double numerator = 0, denominator = 0;
};

// Samples that read nothing but `wanted` time, wholly or in part, and idle time: none of `forbidden` lies within the guard
// of the sample. What such a sample counts came from `wanted` alone, so its whole sum is held against that time, even where
// the sample is longer than the execution. term(sample, wanted ns in it) gives the addends. One cluster per span of
// `wanted`, or per sample where several spans share one.
template <class Term>
std::vector<Cluster> pool_exclusive(const DeviceSamples& device, const SpanSet& wanted, const SpanSet& forbidden,
                                    Term term);

// Samples that lie inside `wanted` from end to end, guard included, weighted by their length. One cluster per span.
template <class Term>
std::vector<Cluster> pool_inside(const DeviceSamples& device, const SpanSet& wanted, Term term);

// The index of the first span that ends after `time`.
size_t span_after(const SpanSet& set, int64_t time);

template <class Term>
std::vector<Cluster> pool_exclusive(const DeviceSamples& device, const SpanSet& wanted, const SpanSet& forbidden,
                                    Term term) {
  std::vector<Cluster> clusters;
  if (!device.guard_ns) {
    return clusters;
  }
  const int64_t guard = *device.guard_ns;
  size_t last_span = wanted.spans().size();
  for (const Sample* sample : device.samples) {
    const int64_t from = sample->start_ns - guard, to = sample->end_ns + guard;
    const size_t span = span_after(wanted, from);
    if (span == wanted.spans().size()) {
      break;
    }
    if (wanted.spans()[span].from >= to || forbidden.covered(from, to) > 0) {
      continue;
    }
    const std::optional<PoolTerm> part =
        term(*sample, static_cast<double>(wanted.covered(sample->start_ns, sample->end_ns)));
    if (!part) {
      continue;
    }
    if (clusters.empty() || last_span != span) {
      clusters.push_back({});
    }
    clusters.back().numerator += part->numerator;
    clusters.back().denominator += part->denominator;
    // The next sample goes on with this cluster if it begins in the span with which this one ended.
    last_span = span;
    while (last_span + 1 < wanted.spans().size() && wanted.spans()[last_span + 1].from < to) {
      ++last_span;
    }
  }
  return clusters;
}

template <class Term>
std::vector<Cluster> pool_inside(const DeviceSamples& device, const SpanSet& wanted, Term term) {
  std::vector<Cluster> clusters;
  if (!device.guard_ns) {
    return clusters;
  }
  size_t last_span = wanted.spans().size();
  for (const Sample* sample : device.samples) {
    const int64_t from = sample->start_ns - *device.guard_ns, to = sample->end_ns + *device.guard_ns;
    const size_t span = span_after(wanted, from);
    if (span == wanted.spans().size()) {
      break;
    }
    if (wanted.spans()[span].from > from || wanted.spans()[span].to < to) {
      continue;
    }
    const std::optional<PoolTerm> part = term(*sample, static_cast<double>(sample->end_ns - sample->start_ns));
    if (!part) {
      continue;
    }
    if (clusters.empty() || last_span != span) {
      clusters.push_back({});
    }
    last_span = span;
    clusters.back().numerator += part->numerator;
    clusters.back().denominator += part->denominator;
  }
  return clusters;
}

}  // namespace kvet::questions
