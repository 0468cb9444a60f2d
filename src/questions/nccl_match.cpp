// Which parts of different ranks are the same collective.
//
// On a communicator NCCL wants every rank to call the same operations in the same order, so the n-th of one rank is the
// n-th of another. A recording (or a window of one) that begins in the middle shifts one rank against the other by a few;
// the right shift is where the ends lie together: no rank of an all-reduce ends before the last one has begun, so with a
// wrong shift the parts don't even overlap.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>

#include "questions/nccl_parts.h"
#include "questions/rank_clock.h"

namespace kvet::questions {
namespace {

constexpr int largest_shift = 32;
constexpr size_t sampled = 512;  // pairs that decide about a shift
constexpr double allowed_contradictions = 0.01;
// Device clocks of two processes agree to a few µs (platform-facts.md: starts and ends against host calls).
constexpr int64_t clock_tolerance_ns = 5'000;

struct Fit {
  size_t compared = 0, different = 0, judged = 0, contradictions = 0;
  int64_t end_difference_ns = std::numeric_limits<int64_t>::max();  // median

  [[nodiscard]] bool acceptable() const {
    return compared > 0 && static_cast<double>(different) <= allowed_contradictions * static_cast<double>(compared) &&
           static_cast<double>(contradictions) <= allowed_contradictions * static_cast<double>(judged);
  }
};

int64_t median(std::vector<int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// How well part i of `a` and part i + shift of `b` go together.
Fit fit_of(const std::vector<Part>& a, const std::vector<Part>& b, int shift) {
  Fit fit;
  std::vector<int64_t> differences;
  const size_t step = std::max<size_t>(1, a.size() / sampled);
  for (size_t i = 0; i < a.size(); i += step) {
    const int64_t j = static_cast<int64_t>(i) + shift;
    if (j < 0 || j >= static_cast<int64_t>(b.size())) {
      continue;
    }
    const Part& x = a[i];
    const Part& y = b[static_cast<size_t>(j)];
    ++fit.compared;
    if (x.what != y.what) {
      ++fit.different;
    } else if (x.executed && y.executed) {
      differences.push_back(std::abs(x.end_ns - y.end_ns));
      if (all_depend(x.what)) {
        ++fit.judged;
        fit.contradictions +=
            std::max(x.start_ns, y.start_ns) > std::min(x.end_ns, y.end_ns) + clock_tolerance_ns ? 1 : 0;
      }
    }
  }
  if (!differences.empty()) {
    fit.end_difference_ns = median(differences);
  }
  return fit;
}

std::set<uint32_t> ranks_in(const Sequence& sequence) {
  std::set<uint32_t> ranks;
  for (const auto& parts : sequence.ranks) {
    if (!parts.empty()) {
      ranks.insert(parts.front().rank);
    }
  }
  return ranks;
}

// How many ranks the collectives of a replayed graph have: as many as a communicator between just these ranks.
uint32_t ranks_expected(const Sequence& sequence, const Collectives& collectives) {
  if (sequence.ranks_expected > 0 || sequence.by != Sequence::By::graph_node) {
    return sequence.ranks_expected;
  }
  const auto ranks = ranks_in(sequence);
  for (const Sequence& other : collectives.sequences) {
    if (other.by == Sequence::By::communicator && ranks_in(other) == ranks) {
      return other.ranks_expected;
    }
  }
  return 0;
}

}  // namespace

std::optional<int> best_shift(const std::vector<Part>& a, const std::vector<Part>& b) {
  std::optional<int> best;
  Fit best_fit;
  for (int size = 0; size <= largest_shift; ++size) {
    for (int shift : {size, -size}) {
      const Fit fit = fit_of(a, b, shift);
      // Few pairs are left at a large shift of short sequences: they prove nothing against a fit of most of them.
      const bool enough = size == 0 || fit.compared * 2 > std::min(sampled, std::min(a.size(), b.size()));
      if (enough && fit.acceptable() && (!best || fit.end_difference_ns < best_fit.end_difference_ns)) {
        best = shift;
        best_fit = fit;
      }
    }
  }
  return best;
}

MatchResult match_ranks(const Collectives& collectives) {
  MatchResult result;
  for (const Sequence& sequence : collectives.sequences) {
    if (sequence.ranks.size() < 2) {
      for (const auto& parts : sequence.ranks) {
        result.parts_alone += static_cast<uint64_t>(std::ranges::count_if(parts, &Part::executed));
      }
      continue;
    }
    // The longest list is the one that the others are held against.
    size_t reference = 0;
    for (size_t rank = 1; rank < sequence.ranks.size(); ++rank) {
      if (sequence.ranks[rank].size() > sequence.ranks[reference].size()) {
        reference = rank;
      }
    }
    const std::vector<Part>& first = sequence.ranks[reference];
    std::vector<std::optional<int>> shifts(sequence.ranks.size());
    bool contradictory = false;
    for (size_t rank = 0; rank < sequence.ranks.size(); ++rank) {
      shifts[rank] = rank == reference ? std::optional(0) : best_shift(first, sequence.ranks[rank]);
      contradictory = contradictory || !shifts[rank];
    }
    if (contradictory) {
      ++result.sequences_contradictory;
      continue;
    }
    ++result.sequences_matched;
    const uint32_t expected = ranks_expected(sequence, collectives);
    uint64_t used = 0, executed = 0;
    for (const auto& parts : sequence.ranks) {
      executed += static_cast<uint64_t>(std::ranges::count_if(parts, &Part::executed));
    }
    for (size_t index = 0; index < first.size(); ++index) {
      Matched matched;
      matched.by = sequence.by;
      matched.by_name = sequence.by == Sequence::By::communicator || sequence.bound;
      for (size_t rank = 0; rank < sequence.ranks.size(); ++rank) {
        const int64_t at = static_cast<int64_t>(index) + *shifts[rank];
        if (at >= 0 && at < static_cast<int64_t>(sequence.ranks[rank].size())) {
          const Part& part = sequence.ranks[rank][static_cast<size_t>(at)];
          if (part.executed && part.what == first[index].what) {
            matched.parts.push_back(part);
          }
        }
      }
      if (matched.parts.size() >= 2) {
        matched.all_ranks = expected > 0 && matched.parts.size() == expected;
        used += matched.parts.size();
        std::ranges::stable_sort(matched.parts, {}, &Part::rank);
        result.collectives.push_back(std::move(matched));
      }
    }
    result.parts_alone += executed - used;
  }
  align_rank_clocks(result, collectives.ranks.size());
  return result;
}

}  // namespace kvet::questions
