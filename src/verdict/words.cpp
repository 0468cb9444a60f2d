#include "verdict/words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "verdict/distributions.h"

namespace kvet::verdict {

const char* name(Word word) {
  switch (word) {
    case Word::survives: return "SURVIVES";
    case Word::partial: return "PARTIAL";
    case Word::vanishes: return "VANISHES";
    case Word::regresses: return "REGRESSES";
    case Word::invalid: return "INVALID";
    case Word::inconclusive: return "INCONCLUSIVE";
    case Word::refused: return "REFUSED";
  }
  return "?";
}

const char* name(Arm arm) { return arm == Arm::baseline ? "baseline" : "candidate"; }

int exit_status(Word word, bool likely) {
  switch (word) {
    case Word::refused: return 15;
    case Word::invalid: return 13;
    case Word::inconclusive: return 14;
    case Word::survives: return likely ? 14 : 0;
    case Word::partial: return likely ? 14 : 10;
    case Word::vanishes: return likely ? 14 : 11;
    case Word::regresses: return likely ? 14 : 12;
  }
  return 70;
}

// More is a slip of the keyboard, and does not fit into a line either.
constexpr double largest_claim = 1e6;

Result<Cuts> cuts_for_claim(std::optional<double> claim) {
  Cuts cuts{std::log(margin_ratio), std::nullopt};
  if (!claim) {
    return cuts;
  }
  if (!std::isfinite(*claim) || *claim <= 0) {
    return fail(ErrorKind::usage, "a claim is a positive ratio, baseline time ÷ candidate time",
                fmt::format("claim {}", *claim), "write 1.38 for a kernel that needs 1/1.38 of the time");
  }
  if (*claim > largest_claim) {
    return fail(ErrorKind::usage, fmt::format("no kernel is more than {} times as fast", largest_claim),
                fmt::format("claim {}", *claim), "write baseline time ÷ candidate time, such as 1.38");
  }
  double threshold = claim_share * std::log(*claim);
  if (threshold <= cuts.margin) {
    return fail(
        ErrorKind::usage,
        fmt::format("too small to be told from nothing: 80% of its logarithm must exceed ln {}", margin_ratio),
        fmt::format("claim {}", *claim),
        fmt::format("the smallest claim that can be vetted is {:.3f}", std::exp(cuts.margin / claim_share) + 0.0005));
  }
  cuts.threshold = threshold;
  return cuts;
}

namespace {

// The ranges from low to high, as [from, to] in log ratio.
struct Range {
  Word word;
  double from, to;
};
std::vector<Range> ranges(const Cuts& cuts) {
  double infinity = HUGE_VAL;
  std::vector<Range> all{{Word::regresses, -infinity, -cuts.margin}, {Word::vanishes, -cuts.margin, cuts.margin}};
  if (cuts.threshold) {
    all.push_back({Word::partial, cuts.margin, *cuts.threshold});
    all.push_back({Word::survives, *cuts.threshold, infinity});
  } else {
    all.push_back({Word::partial, cuts.margin, infinity});
  }
  return all;
}

}  // namespace

Word word_of(const LogInterval& interval, const Cuts& cuts) {
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) {
    return Word::inconclusive;
  }
  for (const Range& range : ranges(cuts)) {
    if (interval.low >= range.from && interval.high <= range.to) {
      return range.word;
    }
  }
  return Word::inconclusive;
}

std::vector<Word> words_spanned(const LogInterval& interval, const Cuts& cuts) {
  std::vector<Word> words;
  for (const Range& range : ranges(cuts)) {
    if (interval.low < range.to && interval.high > range.from) {
      words.push_back(range.word);
    }
  }
  return words;
}

Word gate_end_to_end(Word word, const LogInterval& end_to_end) {
  double cut = -std::log(end_to_end_margin_ratio);
  if (word == Word::regresses || end_to_end.high < cut) {
    return Word::regresses;
  }
  return end_to_end.low > cut ? word : Word::inconclusive;
}

namespace {

std::optional<uint64_t> units_for_half_width(const LogInterval& interval, double distance) {
  constexpr uint64_t limit = 1000;
  for (uint64_t units = std::max<uint64_t>(2, interval.units + 1); units <= limit; ++units) {
    auto count = static_cast<double>(units);
    if (t_half_width(interval.confidence, count - 1) * interval.deviation / std::sqrt(count) <= distance) {
      return units;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> units_to_decide(const LogInterval& interval, const Cuts& cuts) {
  double distance = HUGE_VAL;
  for (const Range& range : ranges(cuts)) {
    for (double cut : {range.from, range.to}) {
      distance = std::min(distance, std::abs(interval.estimate - cut));
    }
  }
  return units_for_half_width(interval, distance);
}

std::optional<uint64_t> units_to_exclude(const LogInterval& interval, double cut) {
  return units_for_half_width(interval, std::abs(interval.estimate - cut));
}

}  // namespace kvet::verdict
