// The last step of share_cells.h: from coefficients to shares that add up to what the device counted.
#include <algorithm>
#include <cmath>

#include "questions/share_parts.h"

namespace kvet::questions {
namespace {

constexpr size_t no_party = ShareSystem::every_block;
// Samples that nothing can split may hold this much of the count, or nothing is said.
constexpr double most_left_out = 0.5;
// What warps would ask for is not how a saturated memory shares: 15% off for a copy beside another one and a compute kernel
// of known bytes on an H200.
constexpr double demand_error = 0.15;

}  // namespace

// The set's own samples where they determine it (unless saturation makes them mean something else), else those without saturation, else everybody's.
const ShareSystem* ShareCells::system_for(const Cell& cell, size_t set) const {
  if (cell.system && cell.system->determined() && !by_rows(cell)) {
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

std::optional<ShareCells::Split> ShareCells::split(const Cell& cell, size_t set, const Sums& sums,
                                                   size_t without_block) const {
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

std::optional<ShareEstimate> ShareCells::evaluate(size_t without_block) const {
  return evaluate(without_block, no_party);
}

std::optional<ShareEstimate> ShareCells::evaluate(size_t without_block, size_t raised) const {
  const Saturated saturated = split_saturated(without_block, raised);
  ShareEstimate estimate;
  std::vector<double> by_party = saturated.by_party;
  estimate.copies = saturated.copies;
  estimate.nobody = saturated.nobody;
  estimate.device = saturated.device;
  estimate.time_ns = saturated.time_ns;
  (saturated.progress ? estimate.by_progress : estimate.by_demand) = saturated.device;
  double left_out = saturated.left_out_ns, fitted = saturated.device;
  for (const auto& [key, cell] : cells_) {
    if (!(cell.corun.time_ns > 0) || by_rows(cell)) {
      continue;
    }
    const auto parts = split(cell, key.first, cell.corun, without_block);
    if (!parts) {
      left_out += cell.corun.time_ns;
      continue;
    }
    for (size_t party = 0; party < by_party.size(); ++party) {
      by_party[party] += parts->by_party[party];
    }
    estimate.copies += parts->copies;
    estimate.earlier += parts->earlier;
    estimate.nobody += parts->nobody;
    estimate.device += cell.corun.count;
    estimate.time_ns += cell.corun.time_ns;
    fitted += parts->fitted;
    double* how[] = {nullptr, &estimate.by_set, &estimate.by_all_sets};
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
      estimate.own += table_.parties[party].own ? by_party[party] : 0;
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
  const auto base = evaluate(ShareSystem::every_block, no_party);
  double squares = 0;
  for (const auto& [party, progress] : progress_) {
    if (const auto raised = evaluate(ShareSystem::every_block, party); base && raised) {
      squares += (raised->own - base->own) * (raised->own - base->own);
    }
  }
  return std::sqrt(squares);
}

double ShareCells::model_error() {
  const auto estimate = evaluate();
  if (stretches_.empty() || !estimate) {
    return 0;
  }
  if (saturated_by_rows_) {
    return estimate->device > 0 ? demand_error * estimate->own * estimate->by_demand / estimate->device : 0;
  }
  saturated_by_rows_ = true;
  const auto by_demand = evaluate();
  saturated_by_rows_ = false;
  return by_demand ? std::abs(estimate->own - by_demand->own) : demand_error * estimate->own;
}

}  // namespace kvet::questions
