// The parts of a verdict that explain its word: the five levels, what recording cost, what to try.
#pragma once

#include "verdict/basis.h"
#include "verdict/decide.h"

namespace kvet::verdict {

Estimate estimate_of(const LogInterval& interval, const std::string& unit_name);

void add_levels(Verdict& verdict, const std::vector<BlockSummary>& blocks, const Basis& basis,
                const std::optional<LogInterval>& at_set, const DecisionInput& input);
void add_cost(Verdict& verdict, const DecisionInput& input);
void add_advice(Verdict& verdict);

}  // namespace kvet::verdict
