#include "questions/share_cells.h"

#include <algorithm>
#include <cmath>

#include "questions/share_progress.h"
#include "questions/spans.h"

namespace kvet::questions {
namespace {

constexpr size_t most_columns_of_set = 12, most_columns_of_all = 16;
constexpr size_t most_systems =
    64;  // sets with a regression of their own: about 30 blocks × 14² doubles each, 3 MB in all
constexpr uint64_t least_rows_of_set = 30;
constexpr size_t most_progress = 6;  // launch shapes whose cost alone is looked up

// Resident warps as the counter sees them when it reads a share 1 ÷ lag of what is still outstanding per ns.
class Lag {
 public:
  Lag(double lag_ns, size_t parties) : lag_ns_(lag_ns), outstanding_(lag_ns > 0 ? parties : 0) {}

  std::vector<std::pair<size_t, double>> pass(const ShareRow& row) {
    if (lag_ns_ <= 0) {
      return row.warp_ns;
    }
    const double gap = std::max(0.0, static_cast<double>(row.sample->start_ns - last_end_ns_));
    const double faded = std::exp(-gap / lag_ns_), kept = std::exp(-row.length_ns / lag_ns_);
    const double mean_kept = lag_ns_ / row.length_ns * (1 - kept);
    std::vector<std::pair<size_t, double>> result;
    size_t next = 0;
    std::vector<std::pair<size_t, double>> sorted = row.warp_ns;
    std::ranges::sort(sorted);
    for (size_t party = 0; party < outstanding_.size(); ++party) {
      double warps = 0;
      for (; next < sorted.size() && sorted[next].first == party; ++next) {
        warps += sorted[next].second / row.length_ns;
      }
      double& before = outstanding_[party];
      before *= faded;
      const double mean = warps + (before - warps) * mean_kept;
      before = warps + (before - warps) * kept;
      if (mean > 1e-6) {
        result.emplace_back(party, mean * row.length_ns);
      }
    }
    last_end_ns_ = row.sample->end_ns;
    return result;
  }

 private:
  double lag_ns_;
  std::vector<double> outstanding_;  // warps by party
  int64_t last_end_ns_ = 0;
};

}  // namespace

ShareCells::ShareCells(const ShareTable& table, const ShareInput& input, double lag_ns, Systems systems)
    : table_(table), input_(input), lag_ns_(lag_ns) {
  observe(lag_ns);
  sort_into_cells();
  build(systems);
}

void ShareCells::observe(double lag_ns) {
  // Without an end: ten thousand kernels would make every row ten thousand long.
  Lag lag{table_.parties.size() <= 256 ? lag_ns : 0, table_.parties.size()};
  for (const ShareRow& row : table_.rows) {
    Seen seen;
    seen.row = &row;
    seen.observation.warp_ns = lag.pass(row);
    const std::optional<double> count = input_.read(*row.sample);
    if (!count) {
      continue;
    }
    seen.observation.count = *count;
    seen.observation.block = row.block;
    seen.observation.copies =
        (input_.copies_read ? row.copy_read_bytes : 0) + (input_.copies_write ? row.copy_write_bytes : 0);
    seen.weight = row.corun_ns / row.length_ns;
    seen.saturated = input_.saturated && input_.saturated(*row.sample).value_or(false);
    samples_ += seen.weight > 0 ? 1 : 0;
    seen_.push_back(std::move(seen));
  }
}

void ShareCells::sort_into_cells() {
  present_.resize(table_.parties.size());
  for (const Seen& seen : seen_) {
    Cell& cell = cells_[{seen.row->set, seen.saturated}];
    if (cell.rows++ == 0) {
      cell.saturated = seen.saturated;
      for (auto* sums : {&cell.present, &cell.corun.warp_ns, &cell.all.warp_ns}) {
        sums->resize(table_.parties.size());
      }
    }
    for (const auto& [party, warp_ns] : seen.row->warp_ns) {
      cell.present[party] += warp_ns;
      present_[party] += warp_ns;
    }
  }
  for (const Seen& seen : seen_) {
    add_up(cells_.at({seen.row->set, seen.saturated}), seen);
  }
}

void ShareCells::add_up(Cell& cell, const Seen& seen) const {
  for (auto [sums, part] : {std::pair{&cell.all, 1.0}, std::pair{&cell.corun, seen.weight}}) {
    for (const auto& [party, warp_ns] : seen.observation.warp_ns) {
      (cell.present[party] > 0 ? sums->warp_ns[party] : sums->earlier) += part * warp_ns;
    }
    sums->copies += part * seen.observation.copies;
    sums->count += part * seen.observation.count;
    sums->time_ns += part * seen.row->length_ns;
  }
}

void ShareCells::build(Systems systems) {
  std::vector<std::pair<uint64_t, Cell*>> largest;
  for (auto& [key, cell] : cells_) {
    const auto parties = std::ranges::count_if(cell.present, [](double warp_ns) { return warp_ns > 0; });
    cell.single = parties <= 1 && cell.all.copies == 0;
    // A count that saturation holds is split without a regression there.
    if (!cell.single && cell.rows >= least_rows_of_set && !(cell.saturated && input_.pinned)) {
      largest.emplace_back(cell.rows, &cell);
    }
  }
  std::ranges::stable_sort(largest, [](const auto& a, const auto& b) { return a.first > b.first; });
  largest.resize(systems == Systems::each_set ? std::min(largest.size(), most_systems) : 0);
  for (const auto& [rows, cell] : largest) {
    cell->system.emplace(table_.parties, cell->present, most_columns_of_set);
  }
  all_.emplace(table_.parties, present_, most_columns_of_all);
  for (const Seen& seen : seen_) {
    if (!seen.row->resolved) {
      continue;
    }
    if (Cell& cell = cells_.at({seen.row->set, seen.saturated}); cell.system) {
      cell.system->add(seen.observation);
    }
    if (!seen.saturated) {
      all_->add(seen.observation);
    }
  }
  for (const auto& [rows, cell] : largest) {
    cell->system->finish();
  }
  all_->finish();
}

std::optional<double> ShareCells::residual_squares() const {
  if (!all_->determined()) {
    return std::nullopt;
  }
  const auto coefficients = all_->solve();
  if (!coefficients) {
    return std::nullopt;
  }
  double squares = 0;
  for (const Seen& seen : seen_) {
    if (seen.saturated || !seen.row->resolved) {
      continue;
    }
    double fit = coefficients->copies * seen.observation.copies;
    for (const auto& [party, warp_ns] : seen.observation.warp_ns) {
      fit += coefficients->by_party[party] * warp_ns;
    }
    squares += (seen.observation.count - fit) * (seen.observation.count - fit);
  }
  return squares;
}

void ShareCells::balance(const Capture& capture, DeviceId device) {
  gather_stretches();
  saturated_by_rows_ = input_.pinned;
  if (stretches_.empty()) {
    return;
  }
  std::vector<bool> wanted(capture.shapes.size());
  std::vector<size_t> parties;
  for (const auto& [key, cell] : cells_) {
    for (size_t party = 0; party < table_.parties.size() && cell.saturated && !cell.single; ++party) {
      const Party& who = table_.parties[party];
      if (cell.corun.warp_ns[party] > 0 && who.kind == PartyKind::kernel && who.shape.value < wanted.size() &&
          !wanted[who.shape.value]) {
        wanted[who.shape.value] = true;
        parties.push_back(party);
      }
    }
  }
  // Those with most warps: a cost alone takes a sweep over the capture.
  std::ranges::stable_sort(parties, std::greater<>{}, [&](size_t party) { return present_[party]; });
  parties.resize(std::min(parties.size(), most_progress));
  std::vector<size_t> party_of(capture.shapes.size(), ShareSystem::every_block);
  // A count that saturation does not hold tells more by the warps.
  const std::map<uint32_t, SoloCost> by_progress =
      input_.pinned ? costs_by_progress(capture, device, table_, input_) : std::map<uint32_t, SoloCost>{};
  for (size_t party : parties) {
    const ShapeId shape = table_.parties[party].shape;
    auto cost = input_.solo ? input_.solo(shape) : std::nullopt;
    if (const auto other = by_progress.find(shape.value); other != by_progress.end()) {
      // Alone where that is surer; siblings may take an execution's lines out of L2, and then it costs more than alone.
      cost = cost && cost->standard_error < other->second.standard_error ? cost : other->second;
    }
    if (cost) {
      progress_[party].cost = *cost;
      party_of[table_.parties[party].shape.value] = party;
    }
  }
  std::vector<Span> sampled;
  for (const Seen& seen : seen_) {
    sampled.push_back({seen.row->sample->start_ns, seen.row->sample->end_ns});
  }
  const SpanSet seen_times{std::move(sampled)};
  for (const Execution& execution : capture.executions) {
    const size_t party = party_of[execution.shape.value];
    if (execution.device == device && execution.end_ns > execution.start_ns && party != ShareSystem::every_block) {
      progress_[party].executions += static_cast<double>(seen_times.covered(execution.start_ns, execution.end_ns)) /
                                     static_cast<double>(execution.end_ns - execution.start_ns);
    }
  }
  bool own_known = true;
  for (const Stretch& stretch : stretches_) {
    for (const auto& [party, warp_ns] : stretch.warp_ns) {
      own_known = own_known && (!table_.parties[party].own || progress_.contains(party));
    }
  }
  saturated_by_rows_ = input_.pinned || own_known;
}

}  // namespace kvet::questions
