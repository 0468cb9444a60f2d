#include "verdict/quads.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace kvet::verdict {
namespace {

// The blocks of one quad by position; false where they do not make one.
bool make_quad(const std::vector<BlockSummary>& blocks, std::vector<size_t> members, bool aa, Quad& quad) {
  if (members.size() != 4) {
    return false;
  }
  std::sort(members.begin(), members.end(),
            [&](size_t a, size_t b) { return *blocks[a].identity.position < *blocks[b].identity.position; });
  for (size_t i = 0; i < 4; ++i) {
    if (*blocks[members[i]].identity.position != static_cast<int64_t>(i)) {
      return false;
    }
  }
  std::array<size_t, 2> outer{members[0], members[3]}, inner{members[1], members[2]};
  Arm outside = blocks[outer[0]].arm, inside = blocks[inner[0]].arm;
  if (blocks[outer[1]].arm != outside || blocks[inner[1]].arm != inside || (outside == inside) != aa) {
    return false;
  }
  bool outer_first = aa ? quad.number % 2 == 0 : outside == Arm::baseline;
  quad.first = outer_first ? outer : inner;
  quad.second = outer_first ? inner : outer;
  return true;
}

}  // namespace

Grouping group(const std::vector<BlockSummary>& blocks) {
  Grouping grouping;
  std::map<std::tuple<bool, std::string, int64_t>, std::vector<size_t>> members;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const BlockIdentity& identity = blocks[i].identity;
    bool aa = identity.kind == "aa";
    if (identity.quad && identity.position && (aa || identity.kind == "ab")) {
      members[{aa, identity.experiment, *identity.quad}].push_back(i);
    } else {
      (blocks[i].arm == Arm::baseline ? grouping.loose_baseline : grouping.loose_candidate).push_back(i);
    }
  }
  for (const auto& [key, list] : members) {
    const auto& [aa, experiment, number] = key;
    Quad quad{experiment, number, {}, {}};
    if (make_quad(blocks, list, aa, quad)) {
      (aa ? grouping.aa_quads : grouping.quads).push_back(quad);
    } else {
      grouping.left_out.push_back(
          fmt::format("{} quad {} has {} of 4 blocks in ABBA or BAAB order", aa ? "A/A" : "A/B", number, list.size()));
    }
  }
  // Before the first quad is complete its blocks are better than nothing.
  if (grouping.quads.empty()) {
    for (const auto& [key, list] : members) {
      for (size_t block : list) {
        if (!std::get<0>(key)) {
          (blocks[block].arm == Arm::baseline ? grouping.loose_baseline : grouping.loose_candidate).push_back(block);
        }
      }
    }
  }
  return grouping;
}

std::optional<std::vector<double>> contrasts(const std::vector<BlockSummary>& blocks, const std::vector<Quad>& quads,
                                             const Figure& figure) {
  std::vector<double> units;
  for (const Quad& quad : quads) {
    std::array<double, 2> first{}, second{};
    for (size_t i = 0; i < 2; ++i) {
      auto a = figure(blocks[quad.first[i]]), b = figure(blocks[quad.second[i]]);
      if (!a || !b || *a <= 0 || *b <= 0) {
        return std::nullopt;
      }
      first[i] = *a;
      second[i] = *b;
    }
    units.push_back(contrast(first, second));
  }
  return units;
}

std::optional<std::vector<double>> differences(const std::vector<BlockSummary>& blocks, const std::vector<Quad>& quads,
                                               const Figure& figure) {
  std::vector<double> units;
  for (const Quad& quad : quads) {
    double sum = 0;
    for (size_t i = 0; i < 2; ++i) {
      auto a = figure(blocks[quad.first[i]]), b = figure(blocks[quad.second[i]]);
      if (!a || !b) {
        return std::nullopt;
      }
      sum += *b - *a;
    }
    units.push_back(sum / 2);
  }
  return units;
}

}  // namespace kvet::verdict
