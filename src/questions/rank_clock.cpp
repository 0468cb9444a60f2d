#include "questions/rank_clock.h"

#include <algorithm>
#include <cmath>

namespace kvet::questions {
namespace {

constexpr size_t drift_least = 32;  // observations that it takes to tell a drift
// A drift is kept where it explains so much of the spread: else it is noise, and would only bend the clock.
constexpr double drift_gain = 0.8;
// Recorders and drivers map clocks to within microseconds, and merging captures of several hosts does so too (kvet merge). What is
// further off than this is not a clock, and a file that says so is not believed.
constexpr double plausible_offset_ns = 1e9, plausible_drift = 1e-3;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The middle of the ranks' ends. Computed without a sum that could overflow.
int64_t middle_end(const Matched& matched) {
  std::vector<int64_t> ends;
  ends.reserve(matched.parts.size());
  for (const Part& part : matched.parts) {
    ends.push_back(part.end_ns);
  }
  std::ranges::sort(ends);
  const size_t middle = ends.size() / 2;
  return ends.size() % 2 == 1 ? ends[middle] : ends[middle - 1] + (ends[middle] - ends[middle - 1]) / 2;
}

double spread(const std::vector<std::pair<int64_t, double>>& behind, const RankClock& clock) {
  std::vector<double> left;
  left.reserve(behind.size());
  for (const auto& [time, value] : behind) {
    left.push_back(std::abs(value - clock.offset_ns - clock.drift * static_cast<double>(time - clock.from_ns)));
  }
  return median(std::move(left));
}

}  // namespace

int64_t RankClock::correction_at(int64_t time) const {
  const double correction = offset_ns + drift * static_cast<double>(time - from_ns);
  return std::abs(correction) <= plausible_offset_ns ? std::llround(correction) : 0;
}

RankClock fit_rank_clock(const std::vector<std::pair<int64_t, double>>& behind) {
  RankClock constant;
  if (behind.empty()) {
    return constant;
  }
  std::vector<double> values;
  values.reserve(behind.size());
  for (const auto& [time, value] : behind) {
    values.push_back(value);
  }
  constant.from_ns = behind.front().first;
  constant.offset_ns = median(values);
  if (behind.size() < drift_least) {
    return constant;
  }
  // Each observation against the one half the recording later (Theil and Sen's slope, on pairs that are far apart).
  const size_t half = behind.size() / 2;
  std::vector<double> slopes;
  for (size_t i = 0; i + half < behind.size(); ++i) {
    const double apart = static_cast<double>(behind[i + half].first - behind[i].first);
    if (apart > 0) {
      slopes.push_back((behind[i + half].second - behind[i].second) / apart);
    }
  }
  if (slopes.empty()) {
    return constant;
  }
  RankClock drifting = constant;
  drifting.drift = median(std::move(slopes));
  for (size_t i = 0; i < behind.size(); ++i) {
    values[i] = behind[i].second - drifting.drift * static_cast<double>(behind[i].first - drifting.from_ns);
  }
  drifting.offset_ns = median(std::move(values));
  const bool plausible = std::abs(drifting.drift) <= plausible_drift;
  return plausible && spread(behind, drifting) < drift_gain * spread(behind, constant) ? drifting : constant;
}

void align_rank_clocks(MatchResult& matches, size_t ranks) {
  std::vector<std::vector<std::pair<int64_t, double>>> behind(ranks);
  std::vector<const Matched*> telling;
  for (const Matched& matched : matches.collectives) {
    if (!all_depend(matched.parts.front().what)) {
      continue;
    }
    telling.push_back(&matched);
    const int64_t middle = middle_end(matched);
    for (const Part& part : matched.parts) {
      behind[part.rank].emplace_back(part.end_ns, static_cast<double>(part.end_ns - middle));
    }
  }
  if (telling.empty()) {
    return;
  }
  std::vector<RankClock>& clocks = matches.clocks;
  clocks.resize(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::ranges::sort(behind[rank]);
    clocks[rank] = fit_rank_clock(behind[rank]);
  }
  for (Matched& matched : matches.collectives) {
    for (Part& part : matched.parts) {
      const int64_t correction = clocks[part.rank].correction_at(part.end_ns);
      part.shift_ns -= correction;
      part.start_ns -= correction;
      part.end_ns -= correction;
      matches.largest_shift_ns = std::max(matches.largest_shift_ns, std::abs(correction));
    }
  }
  std::vector<double> residuals;
  for (const Matched* matched : telling) {
    const int64_t middle = middle_end(*matched);
    for (const Part& part : matched->parts) {
      residuals.push_back(std::abs(static_cast<double>(part.end_ns - middle)));
    }
  }
  matches.residual_ns = std::llround(median(std::move(residuals)));
}

}  // namespace kvet::questions
