#include "questions/sensitivity.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "questions/make_finding.h"

namespace kvet::questions {
namespace {

constexpr uint64_t least_executions = 20;
constexpr size_t least_blocks = 6, blocks_of_time = 30;
constexpr double least_sampled = 0.9;

// Sums of a straight line; those of a block can be taken away again.
struct Sums {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  void add(const SensitivityPoint& point, double middle) {
    const double at = point.bytes_per_s - middle;  // centred, or xx − x²/n loses its digits
    n += 1;
    x += at;
    y += point.duration;
    xx += at * at;
    xy += at * point.duration;
  }
  [[nodiscard]] std::optional<SensitivityLine::Line> line(const Sums& less, double middle) const {
    const double count = n - less.n, sx = x - less.x, sy = y - less.y;
    const double spread = xx - less.xx - sx * sx / count;
    if (!(count >= 3) || !(spread > 1e-9 * (xx - less.xx)) || !(spread > 0)) {
      return std::nullopt;
    }
    const double slope = (xy - less.xy - sx * sy / count) / spread;
    return SensitivityLine::Line{(sy - slope * sx) / count - slope * middle, slope};
  }
};

// Delete-one-block variance of a function of the line.
template <class Function>
std::optional<double> variance(const SensitivityLine& line, double value, Function function) {
  double squares = 0;
  for (const SensitivityLine::Line& without : line.without_block) {
    const std::optional<double> other = function(without);
    if (!other) {
      return std::nullopt;
    }
    squares += (*other - value) * (*other - value);
  }
  const auto count = static_cast<double>(line.without_block.size());
  return squares * (count - 1) / count;
}

std::optional<double> crossing(const SensitivityLine::Line& baseline, const SensitivityLine::Line& candidate) {
  const double gain = baseline.at_rest - candidate.at_rest, loss = candidate.slope - baseline.slope;
  return gain > 0 && loss > 0 ? std::optional{gain / loss} : std::nullopt;
}

}  // namespace

std::optional<SensitivityLine> sensitivity_line(const std::vector<SensitivityPoint>& points) {
  std::vector<const SensitivityPoint*> good;
  for (const SensitivityPoint& point : points) {
    if (std::isfinite(point.bytes_per_s) && point.bytes_per_s < 1e18 && point.duration > 0 && point.duration < 1e18) {
      good.push_back(&point);
    }
  }
  if (good.size() < least_executions) {
    return std::nullopt;
  }
  SensitivityLine result;
  result.executions = good.size();
  result.least_bytes_per_s = result.most_bytes_per_s = good.front()->bytes_per_s;
  double middle = 0;
  for (const SensitivityPoint* point : good) {
    result.least_bytes_per_s = std::min(result.least_bytes_per_s, point->bytes_per_s);
    result.most_bytes_per_s = std::max(result.most_bytes_per_s, point->bytes_per_s);
    middle += point->bytes_per_s / static_cast<double>(good.size());
  }
  Sums all;
  std::unordered_map<size_t, Sums> by_block;
  for (const SensitivityPoint* point : good) {
    all.add(*point, middle);
    by_block[point->block].add(*point, middle);
  }
  const auto line = all.line({}, middle);
  if (!line || by_block.size() < least_blocks) {
    return std::nullopt;
  }
  result.at_rest = line->at_rest;
  result.slope = line->slope;
  for (const auto& [block, sums] : by_block) {
    const auto without = all.line(sums, middle);
    if (!without) {
      return std::nullopt;
    }
    result.without_block.push_back(*without);
  }
  const auto squared = variance(result, result.slope, [](const auto& other) { return std::optional{other.slope}; });
  const double half =
      t_quantile_975(static_cast<double>(result.without_block.size() - 1)) * std::sqrt(squared.value_or(0));
  result.slope_interval = Interval{result.slope - half, result.slope + half};
  return result;
}

std::optional<GainEnd> gain_ends_at(const SensitivityLine& baseline, const SensitivityLine& candidate) {
  const SensitivityLine::Line base{baseline.at_rest, baseline.slope}, cand{candidate.at_rest, candidate.slope};
  const auto at = crossing(base, cand);
  if (!at || *at > std::min(baseline.most_bytes_per_s, candidate.most_bytes_per_s)) {
    return std::nullopt;
  }
  GainEnd end{*at, {}};
  const auto of_base = variance(baseline, *at, [&](const auto& other) { return crossing(other, cand); });
  const auto of_cand = variance(candidate, *at, [&](const auto& other) { return crossing(base, other); });
  if (of_base && of_cand) {
    const auto blocks = static_cast<double>(std::min(baseline.without_block.size(), candidate.without_block.size()));
    const double half = t_quantile_975(blocks - 1) * std::sqrt(*of_base + *of_cand);
    end.interval = Interval{std::max(0.0, *at - half), *at + half};
  }
  return end;
}

std::vector<SensitivityPoint> sensitivity_points(const Capture& capture, const std::vector<DramDevice>& devices,
                                                 double own_bytes, bool relative) {
  std::vector<SensitivityPoint> points;
  std::unordered_map<uint32_t, std::pair<double, double>> shapes;  // Σ duration, count
  std::vector<uint32_t> shape_of;
  for (size_t device = 0; device < devices.size(); ++device) {
    const DramDevice& one = devices[device];
    const auto& samples = one.samples.samples;
    size_t first = 0;
    const size_t runs = one.timeline->runs.size();
    for (size_t i = 0; i < runs; ++i) {
      const Run& run = one.timeline->runs[i];
      const auto duration = static_cast<double>(run.to_ns - run.from_ns);
      while (first < samples.size() && samples[first]->end_ns <= run.from_ns) {
        ++first;
      }
      double bytes = 0, covered = 0;
      for (size_t at = first; at < samples.size() && samples[at]->start_ns < run.to_ns; ++at) {
        const Sample& sample = *samples[at];
        const auto part =
            static_cast<double>(std::min(sample.end_ns, run.to_ns) - std::max(sample.start_ns, run.from_ns));
        if (const auto moved = dram_bytes(sample, Direction::both); moved && part > 0) {
          bytes += *moved * part / static_cast<double>(sample.end_ns - sample.start_ns);
          covered += part;
        }
      }
      if (duration <= 0 || covered < least_sampled * duration) {
        continue;
      }
      const uint32_t shape = capture.executions[run.execution].shape.value;
      auto& [sum, count] = shapes[shape];
      sum += duration;
      ++count;
      shape_of.push_back(shape);
      points.push_back({1e9 * std::max(0.0, bytes / covered - own_bytes / duration), duration,
                        device * blocks_of_time + i * blocks_of_time / runs});
    }
  }
  for (size_t i = 0; relative && i < points.size(); ++i) {
    const auto& [sum, count] = shapes[shape_of[i]];
    points[i].duration *= count / sum;
  }
  return points;
}

void add_sensitivity(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                     const std::vector<DramDevice>& devices) {
  constexpr const char* id = "dram.sensitivity";
  constexpr const char* unit = "%/(100 GB/s)";
  auto value_of = [&](std::string_view wanted) -> std::optional<double> {
    const auto at = std::ranges::find(findings, wanted, &Finding::id);
    return at == findings.end() ? std::nullopt : at->value;
  };
  double duration = 0, runs = 0, beside = 0;
  for (const DramDevice& one : devices) {
    for (const Run& run : one.timeline->runs) {
      duration += static_cast<double>(run.to_ns - run.from_ns);
      beside += static_cast<double>(run.beside_ns);
      ++runs;
    }
    if (!one.samples.guard_ns) {
      findings.push_back(unavailable(Question::dram, id, kernels.label, unit, one.samples.reason, one.samples.advice));
      return;
    }
  }
  // What an execution moves itself: as it does alone, else its own share times its mean duration.
  std::optional<double> own = value_of("dram.bytes_per_execution");
  if (const auto rate = value_of("dram.own"); !own && rate && runs > 0) {
    own = *rate / 1e9 * duration / runs;
  }
  if (beside <= 0 || !own) {
    findings.push_back(
        unavailable(Question::dram, id, kernels.label, unit,
                    beside <= 0 ? "no sibling ever ran beside it" : "its own part of the device's bytes is not known",
                    beside <= 0 ? "record it beside its siblings" : "see dram.own and dram.solo"));
    return;
  }
  const auto line = sensitivity_line(sensitivity_points(capture, devices, *own, true));
  if (!line || !(line->at_rest > 0)) {
    findings.push_back(unavailable(Question::dram, id, kernels.label, unit,
                                   "too few sampled executions, or the siblings' bandwidth hardly changes",
                                   "record longer, or with siblings that come and go"));
    return;
  }
  const double factor = 100 * 1e11 / line->at_rest;
  Finding finding = found(
      Question::dram, id, kernels.label, line->slope * factor, unit, Evidence::attributed, line->executions,
      fmt::format("For each 100 GB/s that its siblings move in its time an execution takes {:+.2f}% longer "
                  "(seen: {:.0f} to {:.0f} GB/s). Associated: siblings may slow it in other ways at the same time.",
                  line->slope * factor, line->least_bytes_per_s / 1e9, line->most_bytes_per_s / 1e9));
  finding.interval = Interval{line->slope_interval->low * factor, line->slope_interval->high * factor};
  findings.push_back(std::move(finding));
}

}  // namespace kvet::questions
