// The words and the cuts between them (questions.md, "The verdict").
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "verdict/verdict.h"

namespace kvet::verdict {

// A log ratio with its interval.
struct LogInterval {
  double estimate = 0, low = 0, high = 0;
  double confidence = 0;
  uint64_t units = 0;
  double deviation = 0;  // of one unit; for planning
};

struct Cuts {
  double margin = 0;                // m = ln 1.02, never widened by noise
  std::optional<double> threshold;  // t = 0.8 · ln(claim); empty without a claim: then no gain can be SURVIVES
};

inline constexpr double margin_ratio = 1.02;
inline constexpr double end_to_end_margin_ratio = 1.01;
inline constexpr double claim_share = 0.8;

// A claim whose t does not exceed m cannot be told from nothing: usage error. Likewise not finite or ≤ 0.
Result<Cuts> cuts_for_claim(std::optional<double> claim);

// REGRESSES, VANISHES, PARTIAL, SURVIVES when the whole interval lies in its range; else INCONCLUSIVE.
Word word_of(const LogInterval& interval, const Cuts& cuts);

// The words whose ranges the interval touches, from REGRESSES up.
std::vector<Word> words_spanned(const LogInterval& interval, const Cuts& cuts);

// The end-to-end gate on a word that level 3 gave. Wholly below −ln 1.01: REGRESSES; wholly above: the word; else
// INCONCLUSIVE. REGRESSES stays.
Word gate_end_to_end(Word word, const LogInterval& end_to_end);

// How many units in all would make the interval, centred where it is now and as noisy, lie in one range. Empty: it sits
// so near a cut that 1,000 would not.
std::optional<uint64_t> units_to_decide(const LogInterval& interval, const Cuts& cuts);

// The same for one cut: units that would put the whole interval on one side of it.
std::optional<uint64_t> units_to_exclude(const LogInterval& interval, double cut);

}  // namespace kvet::verdict
