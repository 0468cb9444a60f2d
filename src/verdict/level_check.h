// What a single level says about the claim: for gates that want one answer per check.
#pragma once

#include "verdict/verdict.h"

namespace kvet::verdict {

enum class LevelCheck : uint8_t {
  unavailable,  // there is no estimate
  informs,      // the word does not rest on it: levels 1, 2 and 4, and one observation
  passes,       // its interval lies wholly on the good side of its cut
  fails,        // wholly on the bad side
  undecided,    // on both
};

// Level 3 decides: its cut is t = 0.8 · ln(claim), or m = ln 1.02 without a claim. Level 5 guards: its cut is −ln 1.01.
// (questions.md, "The verdict"; decide.cpp makes the word itself.)
[[nodiscard]] LevelCheck check_of(const Verdict& verdict, const Level& level);

// Whether a gate lets it through: the word is SURVIVES and not only likely, or one of `accept` (a word that is only likely
// counts as INCONCLUSIVE).
[[nodiscard]] bool passes(const Verdict& verdict, const std::vector<std::string>& accept);

}  // namespace kvet::verdict
