// Which blocks belong together: quads in ABBA or BAAB order, one contrast each.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verdict/block_summary.h"
#include "verdict/statistics.h"

namespace kvet::verdict {

// Indices into the blocks. In an A/A quad all four are baseline; "first" are the outer two and "second" the inner two,
// exchanged in every other quad, as a random order would.
struct Quad {
  std::string experiment;
  int64_t number = 0;
  std::array<size_t, 2> first{}, second{};  // baseline and candidate in an A/B quad
};

struct Grouping {
  std::vector<Quad> quads, aa_quads;            // complete, in order of their number
  std::vector<size_t> loose_baseline, loose_candidate;  // blocks without a quad
  std::vector<std::string> left_out;            // sentences: blocks of incomplete quads
};
Grouping group(const std::vector<BlockSummary>& blocks);

// A figure of a block that is larger when the arm is slower; empty where the block has none.
using Figure = std::function<std::optional<double>(const BlockSummary&)>;

// One contrast per quad, in order; empty when a block of any quad lacks the figure or has one that is not positive.
std::optional<std::vector<double>> contrasts(const std::vector<BlockSummary>& blocks, const std::vector<Quad>& quads,
                                             const Figure& figure);
// The same for figures that are differences rather than ratios: mean of the second − mean of the first.
std::optional<std::vector<double>> differences(const std::vector<BlockSummary>& blocks, const std::vector<Quad>& quads,
                                               const Figure& figure);

}  // namespace kvet::verdict
