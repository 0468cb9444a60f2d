#include "verdict/level_check.h"

#include <algorithm>
#include <cmath>

#include "verdict/words.h"

namespace kvet::verdict {

LevelCheck check_of(const Verdict& verdict, const Level& level) {
  if (!level.estimate) {
    return LevelCheck::unavailable;
  }
  if ((level.number != 3 && level.number != 5) || !level.estimate->interval) {
    return LevelCheck::informs;
  }
  const double cut =
      level.number == 3 ? verdict.threshold_log.value_or(verdict.margin_log) : -std::log(end_to_end_margin_ratio);
  if (std::log(level.estimate->interval->low) >= cut) {
    return LevelCheck::passes;
  }
  return std::log(level.estimate->interval->high) < cut ? LevelCheck::fails : LevelCheck::undecided;
}

bool passes(const Verdict& verdict, const std::vector<std::string>& accept) {
  const std::string word = name(verdict.likely ? Word::inconclusive : verdict.word);
  return std::find(accept.begin(), accept.end(), word) != accept.end() ||
         exit_status(verdict.word, verdict.likely) == 0;
}

}  // namespace kvet::verdict
