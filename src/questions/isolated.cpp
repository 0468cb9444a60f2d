#include "questions/isolated.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "questions/isolated_match.h"
#include "questions/locality.h"
#include "questions/make_finding.h"

namespace kvet::questions {
namespace {

using Field = std::optional<IsolatedValue> IsolatedLaunch::*;

struct Mean {
  double value = 0;
  uint64_t launches = 0;
  std::string from;
};

// Over K's executions: each shape counts by how often it ran here, times `weight` of its launches (1 where there is none). Empty where a
// shape has no launch with the field.
std::optional<Mean> mean_of(const ProfileMatch& match, Field field, Field weight = nullptr) {
  Mean mean;
  double sum = 0, weights = 0;
  // Where one launch has no weight, none is weighted.
  const bool weighted = weight != nullptr && std::ranges::all_of(match.shapes, [&](const MatchedShape& shape) {
                          return std::ranges::all_of(shape.launches, [&](const IsolatedLaunch* launch) {
                            return !(launch->*field) || (launch->*weight && (launch->*weight)->value > 0);
                          });
                        });
  for (const MatchedShape& shape : match.shapes) {
    double own = 0, own_weight = 0;
    uint64_t count = 0;
    for (const IsolatedLaunch* launch : shape.launches) {
      const auto& value = launch->*field;
      if (!value) {
        continue;
      }
      const double times = weighted ? (launch->*weight)->value : 1;
      own += value->value * times;
      own_weight += times;
      ++count;
      mean.from = value->from;
    }
    if (count == 0) {
      return std::nullopt;
    }
    sum += shape.executions * own / static_cast<double>(count);
    weights += shape.executions * own_weight / static_cast<double>(count);
    mean.launches += count;
  }
  if (!(weights > 0)) {
    return std::nullopt;
  }
  mean.value = sum / weights;
  return mean;
}

const Finding* with_value(const std::vector<Finding>& findings, std::string_view id) {
  const auto at = std::ranges::find_if(
      findings, [&](const Finding& one) { return one.id == id && one.value && one.beside.empty(); });
  return at == findings.end() ? nullptr : &*at;
}

// What every sentence says about how the figure came about. The file does not say which options were given.
std::string replayed(const IsolatedProfile& profile, const Mean& mean) {
  return fmt::format("{}, replayed alone, {} launch{}, {}", profile.tool, mean.launches, mean.launches == 1 ? "" : "es",
                     mean.from);
}
constexpr const char* control =
    " Unless it was run with --cache-control none --clock-control none, caches were flushed before each pass and the "
    "clock "
    "held at its base";

class Answer {
 public:
  Answer(const Capture& capture, const KernelSet& kernels, const IsolatedProfile& profile,
         const std::vector<Finding>& answered)
      : capture_(capture),
        kernels_(kernels),
        profile_(profile),
        answered_(answered),
        match_(match_profile(capture, kernels, profile)) {}

  std::vector<Finding> all() {
    if (!match_.reason.empty()) {  // one for each question says it
      return {unavailable(Question::occupancy, "occupancy.isolated", kernels_.label, "%", match_.reason, match_.advice),
              unavailable(Question::dram, "dram.isolated", kernels_.label, "bytes", match_.reason, match_.advice)};
    }
    figure(Question::occupancy, "occupancy.isolated", "%", &IsolatedLaunch::occupancy_elapsed_percent,
           &IsolatedLaunch::cycles, "of the warp slots over all cycles of all SMs");
    figure(Question::occupancy, "occupancy.isolated.active", "%", &IsolatedLaunch::occupancy_active_percent,
           &IsolatedLaunch::cycles, "of the warp slots over cycles in which an SM had a warp");
    retained();
    figure(Question::occupancy, "occupancy.isolated.cycles", "cycles", &IsolatedLaunch::cycles, nullptr,
           "cycles per execution");
    slow_down();
    figure(Question::dram, "dram.isolated", "bytes", &IsolatedLaunch::dram_bytes, nullptr,
           "bytes to and from DRAM per execution");
    figure(Question::dram, "dram.isolated.percent", "%", &IsolatedLaunch::dram_peak_percent,
           &IsolatedLaunch::duration_ns, "of the peak DRAM throughput");
    bytes_against_here();
    return only_finite(std::move(findings_));
  }

 private:
  void missing(Question question, const std::string& id, const std::string& unit, const std::string& metric) {
    findings_.push_back(unavailable(question, id, kernels_.label, unit,
                                    fmt::format("{} does not have {}", profile_.path, metric),
                                    "profile with ncu --set full, or --metrics " + metric));
  }

  static std::string metric_of(const std::string& id) {
    return id.starts_with("occupancy.isolated.cycles")   ? "gpc__cycles_elapsed.max"
           : id.starts_with("occupancy.isolated.slow")   ? "gpu__time_duration.sum"
           : id.starts_with("occupancy.isolated.active") ? "sm__warps_active.avg.pct_of_peak_sustained_active"
           : id.starts_with("occupancy")                 ? "sm__warps_active.avg.pct_of_peak_sustained_elapsed"
           : id == "dram.isolated.percent"               ? "dram__throughput.avg.pct_of_peak_sustained_elapsed"
                                                         : "dram__bytes_read.sum,dram__bytes_write.sum";
  }

  std::optional<Mean> mean(Field field, Field weight = nullptr) const { return mean_of(match_, field, weight); }

  void figure(Question question, const std::string& id, const std::string& unit, Field field, Field weight,
              const std::string& what) {
    const auto value = mean(field, weight);
    if (!value) {
      return missing(question, id, unit, metric_of(id));
    }
    const std::string shown = unit == "bytes"    ? fmt::format("{:.3f} M", value->value / 1e6)
                              : unit == "cycles" ? fmt::format("{:.0f} ", value->value)
                                                 : fmt::format("{:.1f}% ", value->value);
    findings_.push_back(found(question, id, kernels_.label, value->value, unit, Evidence::measured, value->launches,
                              fmt::format("{}{} ({}).{}.", shown, what, replayed(profile_, *value), control)));
  }

  // Occupancy here, alone and beside siblings by the time of each, ÷ isolated; both over elapsed cycles.
  void retained() {
    const std::string id = "occupancy.isolated.retained";
    const auto there = mean(&IsolatedLaunch::occupancy_elapsed_percent, &IsolatedLaunch::cycles);
    if (!there) {
      return missing(Question::occupancy, id, "ratio", metric_of(id));
    }
    const Finding* solo = with_value(answered_, "occupancy.solo");
    const Finding* own = with_value(answered_, "occupancy.corun.own");
    const Finding* alone_ns = with_value(answered_, "occupancy.time.solo");
    const Finding* beside_ns = with_value(answered_, "occupancy.time.corun");
    const double alone = alone_ns != nullptr ? *alone_ns->value : 0,
                 beside = beside_ns != nullptr ? *beside_ns->value : 0;
    if ((alone > 0 && solo == nullptr) || (beside > 0 && own == nullptr) || alone + beside <= 0 || there->value <= 0) {
      const auto why = std::ranges::find_if(answered_, [](const Finding& one) {
        return (one.id == "occupancy.solo" || one.id == "occupancy.corun.own") && !one.reason.empty();
      });
      findings_.push_back(
          unavailable(Question::occupancy, id, kernels_.label, "ratio",
                      "its occupancy here is not known" + (why == answered_.end() ? "" : ": " + why->reason),
                      why == answered_.end() ? "record with --counters pm" : why->advice));
      return;
    }
    const double here =
        ((alone > 0 ? *solo->value * alone : 0) + (beside > 0 ? *own->value * beside : 0)) / (alone + beside);
    findings_.push_back(found(
        Question::occupancy, id, kernels_.label, here / there->value, "ratio", Evidence::attributed, there->launches,
        fmt::format("Occupancy is {:.1f}% here, alone and beside siblings together, and {:.1f}% isolated ({}).", here,
                    there->value, replayed(profile_, *there))));
  }

  void slow_down() {
    const std::string id = "occupancy.isolated.slow_down";
    const auto there = mean(&IsolatedLaunch::duration_ns);
    if (!there || there->value <= 0) {
      return missing(Question::occupancy, id, "ratio", metric_of(id));
    }
    double time = 0, executions = 0;
    for (const MatchedShape& shape : match_.shapes) {
      time += shape.time_ns;
      executions += shape.executions;
    }
    const auto clock = mean(&IsolatedLaunch::sm_clock_hz);
    findings_.push_back(
        found(Question::occupancy, id, kernels_.label, time / executions / there->value, "ratio", Evidence::measured,
              static_cast<uint64_t>(executions),
              fmt::format("An execution takes {:.2f} µs here and {:.2f} µs isolated ({}{}).{}.",
                          time / executions / 1e3, there->value / 1e3, replayed(profile_, *there),
                          clock ? fmt::format(", SM clock {:.0f} MHz", clock->value / 1e6) : "", control)));
  }

  void bytes_against_here() {
    const auto there = mean(&IsolatedLaunch::dram_bytes);
    if (!there) {
      return missing(Question::dram, "dram.locality", "ratio", metric_of("dram.isolated"));
    }
    findings_.push_back(locality(capture_, kernels_, answered_, there->value, replayed(profile_, *there)));
  }

  const Capture& capture_;
  const KernelSet& kernels_;
  const IsolatedProfile& profile_;
  const std::vector<Finding>& answered_;
  ProfileMatch match_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> against_profile(const Capture& capture, const KernelSet& kernels, const IsolatedProfile& profile,
                                     const std::vector<Finding>& answered) {
  return Answer(capture, kernels, profile, answered).all();
}

}  // namespace kvet::questions
