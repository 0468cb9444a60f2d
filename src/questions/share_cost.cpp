#include "questions/share_cost.h"

#include <algorithm>
#include <cmath>

#include "questions/saturation.h"
#include "questions/timeline.h"

namespace kvet::questions {
namespace {

constexpr uint64_t least_runs = 3;

}  // namespace

std::optional<double> read_count(const Sample& sample, SharedCount count) {
  switch (count) {
    case SharedCount::dram_read: return plausible_count(sample.dram_read_bytes);
    case SharedCount::dram_write: return plausible_count(sample.dram_write_bytes);
    case SharedCount::l2_sectors: return plausible_count(sample.l2_sectors);
    case SharedCount::instructions: return plausible_count(sample.instructions);
    case SharedCount::tensor_cycles: return plausible_count(sample.tensor_cycles);
  }
  return std::nullopt;
}

SoloCosts::SoloCosts(const Capture& capture, DeviceId device, const DeviceSamples& samples, const SpanSet& transfers,
                     int64_t band_ns)
    : capture_(capture), device_(device), samples_(samples), transfers_(transfers), band_ns_(band_ns) {}

const SoloCosts::Shape& SoloCosts::of(ShapeId shape) {
  const auto [found, added] = known_.try_emplace(shape.value);
  Shape& result = found->second;
  if (!added || shape.value >= capture_.shapes.size()) {
    return result;
  }
  KernelSet only;
  only.has_shape.assign(capture_.shapes.size(), false);
  only.has_shape[shape.value] = true;
  for (const DeviceTimeline& timeline : timelines(capture_, only)) {
    if (timeline.device != device_) {
      continue;
    }
    double all_ns = 0;
    for (const Run& run : timeline.runs) {
      if (run.alone_throughout) {
        const auto duration = static_cast<double>(run.to_ns - run.from_ns);
        ++result.runs;
        all_ns += duration;
      }
    }
    if (result.runs < least_runs) {
      continue;
    }
    const auto runs = static_cast<double>(result.runs);
    result.mean_ns = all_ns / runs;
    std::vector<Span> spans = difference(timeline.kernels, timeline.whole).spans();
    spans.insert(spans.end(), transfers_.spans().begin(), transfers_.spans().end());
    for (Span& span : spans) {
      span.to += band_ns_;
    }
    const SpanSet forbidden{std::move(spans)};
    for (size_t i = 0; i < shared_counts; ++i) {
      const auto rate = ratio_of_sums(pool_exclusive(
          samples_, timeline.whole, forbidden, [&](const Sample& sample, double ns) -> std::optional<PoolTerm> {
            const auto count = read_count(sample, static_cast<SharedCount>(i));
            return count ? std::optional<PoolTerm>{{*count, ns}} : std::nullopt;
          }));
      if (rate && rate->clusters >= least_runs) {
        result.cost[i] = SoloCost{rate->value * result.mean_ns, rate->standard_error * result.mean_ns};
      }
    }
  }
  return result;
}

}  // namespace kvet::questions
