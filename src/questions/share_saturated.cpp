// Shares while the memory is saturated: the device's count is then the same whoever asks, so how it falls to the kernels is
// taken from elsewhere. In each stretch a kernel gets in proportion to its warps times a rate; the rates begin as those without
// saturation, and those of kernels whose work is known are then raised or lowered until each has, over all stretches, what its
// executions count alone less what they counted outside saturation (iterative proportional fitting: Deming and Stephan, 1940).
#include <algorithm>
#include <cmath>

#include "questions/share_parts.h"

namespace kvet::questions {
namespace {

constexpr size_t most_stretches = 4000;
constexpr int rounds = 30;
// A regression may say that a kernel causes nothing; where its executions say otherwise it begins with this part of the largest rate.
constexpr double least_rate = 1e-3;

}  // namespace

void ShareCells::gather_stretches() {
  const auto saturated = static_cast<size_t>(std::ranges::count_if(seen_, &Seen::saturated));
  const size_t together = saturated / most_stretches + 1;
  size_t in_last = together;
  for (const Seen& seen : seen_) {
    const Cell& cell = cells_.at({seen.row->set, seen.saturated});
    if (!cell.saturated || cell.single) {
      in_last = together;
      continue;
    }
    if (in_last == together || stretches_.back().cell != &cell) {
      stretches_.push_back({&cell, seen.row->set, {}});
      in_last = 0;
    }
    ++in_last;
    Stretch& stretch = stretches_.back();
    for (const auto& [party, warp_ns] : seen.observation.warp_ns) {
      const auto known = std::ranges::find(stretch.warp_ns, party, &std::pair<size_t, double>::first);
      if (known == stretch.warp_ns.end()) {
        stretch.warp_ns.emplace_back(party, warp_ns);
      } else {
        known->second += warp_ns;
      }
    }
    stretch.copies += seen.observation.copies;
    stretch.count += seen.observation.count;
    stretch.corun_ns += seen.weight * seen.row->length_ns;
    stretch.length_ns += seen.row->length_ns;
  }
}

std::map<size_t, double> ShareCells::left_for_saturation(size_t without_block, size_t raised) const {
  std::map<size_t, double> left;
  for (const auto& [party, progress] : progress_) {
    const double cost = progress.cost.per_execution + (party == raised ? progress.cost.standard_error : 0);
    left[party] = cost * progress.executions;
  }
  for (const auto& [key, cell] : cells_) {
    if (left.empty() || by_rows(cell)) {
      continue;
    }
    if (const auto parts = split(cell, key.first, cell.all, without_block)) {
      for (auto& [party, count] : left) {
        count -= parts->by_party[party];
      }
    }
  }
  for (auto& [party, count] : left) {
    count = std::max(0.0, count);
  }
  return left;
}

ShareCells::Saturated ShareCells::split_saturated(size_t without_block, size_t raised) const {
  Saturated result;
  result.by_party.resize(table_.parties.size());
  if (!saturated_by_rows_ || stretches_.empty()) {
    return result;
  }
  const std::map<size_t, double> wanted = left_for_saturation(without_block, raised);
  // Rates by cell: without a regression every warp begins alike, which is a start only for those whose progress is known.
  std::map<const Cell*, std::vector<double>> rates;
  std::map<const Cell*, bool> guessed;
  bool own_known = true;
  for (const Stretch& stretch : stretches_) {
    if (rates.contains(stretch.cell)) {
      continue;
    }
    const ShareSystem* system = system_for(*stretch.cell, stretch.set);
    const auto coefficients = system != nullptr ? system->solve(without_block) : std::nullopt;
    std::vector<double>& own_rates = rates[stretch.cell];
    own_rates = coefficients ? coefficients->by_party : std::vector<double>(table_.parties.size(), 1.0);
    const double largest = own_rates.empty() ? 0 : *std::ranges::max_element(own_rates);
    for (const auto& [party, count] : wanted) {
      own_rates[party] = std::max(own_rates[party], least_rate * largest);
    }
    bool known = true;
    for (size_t party = 0; party < table_.parties.size(); ++party) {
      known = known && !(table_.parties[party].own && stretch.cell->present[party] > 0 && !wanted.contains(party));
    }
    guessed[stretch.cell] = !coefficients && !known;
    own_known = own_known && known;
  }
  result.progress = own_known;
  std::vector<double> raise(table_.parties.size(), 1.0), sums(table_.parties.size());
  auto go_over = [&](auto part) {
    for (const Stretch& stretch : stretches_) {
      const std::vector<double>& rate = rates.at(stretch.cell);
      double all = 0;
      for (const auto& [party, warp_ns] : stretch.warp_ns) {
        all += raise[party] * rate[party] * warp_ns;
      }
      // Copies move what they were asked to, saturated or not.
      const double rest = std::max(0.0, stretch.count - stretch.copies);
      for (const auto& [party, warp_ns] : stretch.warp_ns) {
        part(stretch, party, all > 0 ? rest * raise[party] * rate[party] * warp_ns / all : 0.0);
      }
    }
  };
  for (int round = 0; round < rounds && !wanted.empty(); ++round) {
    std::ranges::fill(sums, 0);
    go_over([&](const Stretch&, size_t party, double count) { sums[party] += count; });
    for (const auto& [party, count] : wanted) {
      if (sums[party] > 0) {
        raise[party] = std::clamp(raise[party] * count / sums[party], 1e-9, 1e9);
      }
    }
  }
  go_over([&](const Stretch& stretch, size_t party, double count) {
    if (!guessed.at(stretch.cell)) {
      result.by_party[party] += count * stretch.corun_ns / stretch.length_ns;
    }
  });
  double split = 0;
  for (const Stretch& stretch : stretches_) {
    if (guessed.at(stretch.cell)) {
      result.left_out_ns += stretch.corun_ns;
      continue;
    }
    const double part = stretch.corun_ns / stretch.length_ns;
    result.device += stretch.count * part;
    result.time_ns += stretch.corun_ns;
    result.copies += std::min(stretch.copies, stretch.count) * part;
  }
  for (double count : result.by_party) {
    split += count;
  }
  result.nobody = std::max(0.0, result.device - result.copies - split);
  return result;
}

}  // namespace kvet::questions
