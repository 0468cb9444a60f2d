// The last step of share_cells.h: from coefficients to shares that add up to what the device counted.
#include <algorithm>
#include <cmath>

#include "questions/share_cells.h"

namespace kvet::questions {
namespace {

constexpr size_t nobody = ShareSystem::every_block;
// Samples that nothing can split may hold this much of the count, or nothing is said.
constexpr double most_left_out = 0.5;

}  // namespace

struct ShareCells::Split {
  std::vector<double> by_party;
  double copies = 0, earlier = 0, nobody = 0;
  double fitted = 0;  // before it was scaled
  double condition = 0;
  enum class How : uint8_t { alone, set, all_sets, progress, demand } how = How::alone;
};

// The set's own samples where they determine it, else those without saturation, else everybody's.
const ShareSystem* ShareCells::system_for(const Cell& cell, size_t set) const {
  if (cell.system && cell.system->determined()) {
    return &*cell.system;
  }
  if (cell.saturated) {
    if (const auto other = cells_.find({set, false});
        other != cells_.end() && other->second.system && other->second.system->determined()) {
      return &*other->second.system;
    }
  }
  return all_->determined() ? &*all_ : nullptr;
}

std::optional<ShareCells::Split> ShareCells::split(const Cell& cell, size_t set, const Sums& sums, size_t without_block,
                                                   const Rates& rates) const {
  Split result;
  result.by_party.resize(sums.warp_ns.size());
  if (cell.single) {
    const auto only = std::ranges::find_if(cell.present, [](double warp_ns) { return warp_ns > 0; });
    if (only != cell.present.end()) {
      result.by_party[static_cast<size_t>(only - cell.present.begin())] = sums.count;
    } else {
      result.nobody = sums.count;
    }
    result.fitted = sums.count;
    return result;
  }
  const ShareSystem* system = system_for(cell, set);
  std::optional<Coefficients> coefficients = system != nullptr ? system->solve(without_block) : std::nullopt;
  if (cell.saturated && input_.pinned) {
    return split_by_progress(cell, sums, coefficients ? &*coefficients : nullptr, rates);
  }
  if (!coefficients) {
    return std::nullopt;
  }
  for (size_t party = 0; party < sums.warp_ns.size(); ++party) {
    result.by_party[party] = coefficients->by_party[party] * sums.warp_ns[party];
    result.fitted += result.by_party[party];
  }
  result.copies = coefficients->copies * sums.copies;
  result.earlier = coefficients->earlier * sums.earlier;
  result.fitted += result.copies + result.earlier;
  if (!(result.fitted > 0)) {
    result.nobody = sums.count;
    return result;
  }
  const double scale = sums.count / result.fitted;
  for (double& part : result.by_party) {
    part *= scale;
  }
  result.copies *= scale;
  result.earlier *= scale;
  result.how = system == &*all_ ? Split::How::all_sets : Split::How::set;
  result.condition = system->condition();
  return result;
}

// Those whose progress is known get what it says; the others share the rest as they would ask for it.
ShareCells::Split ShareCells::split_by_progress(const Cell& cell, const Sums& sums, const Coefficients* demand,
                                                const Rates& rates) const {
  Split result;
  result.by_party.resize(sums.warp_ns.size());
  result.how = Split::How::demand;
  double known = 0, open = 0;
  bool own_known = false, own_open = false;
  for (size_t party = 0; party < sums.warp_ns.size(); ++party) {
    if (!(cell.present[party] > 0)) {
      continue;
    }
    const auto rate = rates.find(party);
    const bool has_rate = rate != rates.end();
    double& part = result.by_party[party];
    part = sums.warp_ns[party] * (has_rate ? rate->second : demand != nullptr ? demand->by_party[party] : 1.0);
    (has_rate ? known : open) += part;
    if (table_.parties[party].own) {
      (has_rate ? own_known : own_open) = true;
    }
  }
  result.copies = sums.copies;  // copies move what they were asked to, saturated or not
  known += result.copies;
  if (demand != nullptr) {
    result.earlier = demand->earlier * sums.earlier;
    open += result.earlier;
  }
  result.fitted = known + open;
  // Without anything known about the others, the rest that is left for them is all that they need to have; where K itself is
  // among them, it takes a demand to say how much of the rest is K's, unless K is all of them.
  const double rest = std::max(0.0, sums.count - known);
  const double scale_known = open > 0 ? std::min(1.0, known > 0 ? sums.count / known : 1.0)
                                      : (known > 0 ? sums.count / known : 0);
  const double scale_open = open > 0 ? rest / open : 0;
  for (size_t party = 0; party < sums.warp_ns.size(); ++party) {
    result.by_party[party] *= rates.contains(party) ? scale_known : scale_open;
  }
  result.copies *= scale_known;
  result.earlier *= scale_open;
  result.nobody = known + open > 0 ? 0 : sums.count;
  result.how = own_known && !own_open ? Split::How::progress : Split::How::demand;
  return result;
}

ShareCells::Rates ShareCells::progress_rates(size_t without_block, size_t raised) const {
  Rates counted, warp_ns, rates;
  if (progress_.empty()) {
    return rates;
  }
  for (const auto& [key, cell] : cells_) {
    if (cell.saturated && !cell.single) {
      for (const auto& [party, progress] : progress_) {
        warp_ns[party] += cell.all.warp_ns[party];
      }
    } else if (const auto parts = split(cell, key.first, cell.all, without_block, {})) {
      for (const auto& [party, progress] : progress_) {
        counted[party] += parts->by_party[party];
      }
    }
  }
  for (const auto& [party, progress] : progress_) {
    const double cost = progress.cost.per_execution + (party == raised ? progress.cost.standard_error : 0);
    if (warp_ns[party] > 0) {
      rates[party] = std::max(0.0, cost * progress.executions - counted[party]) / warp_ns[party];
    }
  }
  return rates;
}

std::optional<ShareEstimate> ShareCells::evaluate(size_t without_block) const {
  return evaluate(without_block, nobody);
}

std::optional<ShareEstimate> ShareCells::evaluate(size_t without_block, size_t raised) const {
  const Rates rates = progress_rates(without_block, raised);
  ShareEstimate estimate;
  std::vector<double> by_party(table_.parties.size());
  double left_out = 0, fitted = 0;
  for (const auto& [key, cell] : cells_) {
    if (!(cell.corun.time_ns > 0)) {
      continue;
    }
    const auto parts = split(cell, key.first, cell.corun, without_block, rates);
    // K's share of a saturated set without progress or demand would be a guess from warps alone.
    const bool guessed = parts && parts->how == Split::How::demand && system_for(cell, key.first) == nullptr;
    if (!parts || guessed) {
      left_out += cell.corun.time_ns;
      continue;
    }
    for (size_t party = 0; party < by_party.size(); ++party) {
      by_party[party] += parts->by_party[party];
      estimate.own += table_.parties[party].own ? parts->by_party[party] : 0;
    }
    estimate.copies += parts->copies;
    estimate.earlier += parts->earlier;
    estimate.nobody += parts->nobody;
    estimate.device += cell.corun.count;
    estimate.time_ns += cell.corun.time_ns;
    fitted += parts->fitted;
    double* how[] = {nullptr, &estimate.by_set, &estimate.by_all_sets, &estimate.by_progress, &estimate.by_demand};
    if (double* sum = how[static_cast<size_t>(parts->how)]) {
      *sum += cell.corun.count;
    }
    estimate.condition = std::max(estimate.condition, parts->condition);
  }
  if (!(estimate.time_ns > 0) || left_out > most_left_out * (estimate.time_ns + left_out)) {
    return std::nullopt;
  }
  for (size_t party = 0; party < by_party.size(); ++party) {
    if (by_party[party] > 0) {
      estimate.parts.push_back({party, by_party[party]});
    }
  }
  estimate.residual = estimate.device > 0 ? (estimate.device - fitted) / estimate.device : 0;
  estimate.samples = samples_;
  estimate.lag_ns = lag_ns_;
  return estimate;
}

double ShareCells::solo_error() const {
  if (progress_.empty()) {
    return 0;
  }
  const auto base = evaluate(ShareSystem::every_block, nobody);
  double squares = 0;
  for (const auto& [party, progress] : progress_) {
    if (const auto raised = evaluate(ShareSystem::every_block, party); base && raised) {
      squares += (raised->own - base->own) * (raised->own - base->own);
    }
  }
  return std::sqrt(squares);
}

}  // namespace kvet::questions
