#include "questions/share_system.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kvet::questions {
namespace {

constexpr size_t none = std::numeric_limits<size_t>::max();
constexpr uint64_t least_rows_per_column = 4;
constexpr size_t least_blocks = 6;
// Ratio of singular values of the columns, each scaled to length 1: with 1% of noise in a count, 300 makes a coefficient
// worthless below 90,000 rows.
constexpr double most_condition = 300;
// Of a column's sum of squares: keeps a system solvable from which one block took all that a column had.
constexpr double ridge = 1e-9;

}  // namespace

ShareSystem::ShareSystem(const std::vector<Party>& parties, const std::vector<double>& weight, size_t most_columns,
                         uint64_t least_rows)
    : column_(parties.size(), none), least_rows_(least_rows) {
  std::vector<size_t> order;
  for (size_t party = 0; party < parties.size(); ++party) {
    if (weight[party] > 0) {
      order.push_back(party);
    }
  }
  std::ranges::stable_sort(order, std::greater<>{}, [&](size_t party) { return weight[party]; });
  const size_t separate = order.size() <= most_columns ? order.size() : most_columns - 2;
  for (size_t i = 0; i < order.size(); ++i) {
    column_[order[i]] = i < separate ? i : parties[order[i]].own ? separate : separate + 1;
  }
  separate_ = separate;
  party_columns_ = separate + (separate < order.size() ? 2 : 0);
  squares_.assign(columns(), 0);
}

void ShareSystem::add(const Observation& observation) {
  std::vector<double> dense(columns());
  for (const auto& [party, warp_ns] : observation.warp_ns) {
    dense[column_[party] == none ? party_columns_ + 1 : column_[party]] += warp_ns;
  }
  dense[party_columns_] = observation.copies;
  std::vector<std::pair<size_t, double>> row;
  for (size_t column = 0; column < dense.size(); ++column) {
    if (dense[column] > 0) {
      row.emplace_back(column, dense[column]);
      squares_[column] += dense[column] * dense[column];
    }
  }
  by_block_.try_emplace(observation.block, columns()).first->second.add(row, observation.count);
  ++rows_;
}

void ShareSystem::finish() {
  for (size_t column = 0; column < columns(); ++column) {
    if (squares_[column] > 0) {
      used_.push_back(column);
    }
  }
  NonNegativeLeastSquares all{columns()};
  for (const auto& [block, system] : by_block_) {
    all.add(system);
  }
  condition_ = all.shape(used_).condition;  // columns that no row uses are no unknowns
  determined_ = rows_ >= std::max<uint64_t>(least_rows_, least_rows_per_column * used_.size()) &&
                by_block_.size() >= least_blocks && condition_ <= most_condition;
}

std::optional<Coefficients> ShareSystem::solve(size_t without_block) const {
  NonNegativeLeastSquares sum{columns()};
  for (const auto& [block, system] : by_block_) {
    if (block != without_block) {
      sum.add(system);
    }
  }
  for (size_t column = 0; column < columns(); ++column) {
    const double size = squares_[column] > 0 ? std::sqrt(ridge * squares_[column]) : 1;
    sum.add({{column, size}}, 0);
  }
  const auto solution = sum.solve();
  if (!solution) {
    return std::nullopt;
  }
  Coefficients result;
  result.by_party.assign(column_.size(), 0);
  for (size_t party = 0; party < column_.size(); ++party) {
    result.by_party[party] = column_[party] == none ? 0 : solution->b[column_[party]];
  }
  result.copies = solution->b[party_columns_];
  result.earlier = solution->b[party_columns_ + 1];
  return result;
}

}  // namespace kvet::questions
