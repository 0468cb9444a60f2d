// Contrasts of quads and the interval on them (questions.md, "Units").
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "verdict/words.h"

namespace kvet::verdict {

// The only numbers of units at which a word may be given, and the confidence of each look: three looks at 98.3% leave
// 3 × 1.7% = 5% for a wrong word in all (Bonferroni).
inline constexpr std::array<uint64_t, 3> looks{4, 8, 16};
inline constexpr double look_confidence = 0.983;
inline constexpr uint64_t least_aa_quads = 4;
inline constexpr double aa_confidence = 0.99;

// The mean and its t interval; at least two units.
std::optional<LogInterval> t_interval(std::span<const double> units, double confidence);

// The contrast of one quad on times: mean ln(baseline) − mean ln(candidate). In ABBA and BAAB a drift that is linear
// over the four blocks cancels.
double contrast(const std::array<double, 2>& baseline, const std::array<double, 2>& candidate);

// Without quads: two runs, each cut into slices. The slices of one run are no independent units, so what comes out may
// only be called "likely". Welch's interval on the means of the logarithms.
std::optional<LogInterval> slice_interval(std::span<const double> baseline, std::span<const double> candidate,
                                          double confidence);

// The largest look that this many units reach; 0 below the first.
uint64_t look_at(uint64_t units);

double mean(std::span<const double> values);
// Of a copy: the middle value, or the mean of the two middle ones. Empty input: 0.
double median(std::vector<double> values);

}  // namespace kvet::verdict
