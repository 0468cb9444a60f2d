// The least-squares system of one sibling set (or of all of them together): who causes how much per warp and nanosecond.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "questions/regression.h"
#include "questions/share_rows.h"

namespace kvet::questions {

// Counts per warp and ns of each party, per byte that copies asked for, and per warp and ns of work of earlier sets whose
// counts come late. All ≥ 0.
struct Coefficients {
  std::vector<double> by_party;
  double copies = 0, earlier = 0;
};

// What one row says: the regressors after any lag, and the count.
struct Observation {
  std::vector<std::pair<size_t, double>> warp_ns;  // by party
  double copies = 0;
  double count = 0;
  size_t block = 0;
};

class ShareSystem {
 public:
  static constexpr size_t every_block = std::numeric_limits<size_t>::max();

  // `weight`: warp time of each party in it; those with most get a column of their own, the rest share two, K's and others'.
  ShareSystem(const std::vector<Party>& parties, const std::vector<double>& weight, size_t most_columns,
              uint64_t least_rows = 30);

  // Warp time of parties without any weight here goes to `earlier`.
  void add(const Observation& observation);
  // Builds what solve() needs: call after the last row.
  void finish();

  // Whether the rows determine the unknowns well enough to be asked.
  [[nodiscard]] bool determined() const { return determined_; }
  // Whether that party has a column of its own.
  [[nodiscard]] bool separate(size_t party) const { return column_[party] < separate_; }
  [[nodiscard]] double condition() const { return condition_; }
  [[nodiscard]] uint64_t rows() const { return rows_; }
  // Without the rows of one block, or with every block.
  [[nodiscard]] std::optional<Coefficients> solve(size_t without_block = every_block) const;

 private:
  [[nodiscard]] size_t columns() const { return party_columns_ + 2; }

  std::vector<size_t> column_;  // by party; npos: none
  size_t party_columns_ = 0, separate_ = 0;
  std::map<size_t, NonNegativeLeastSquares> by_block_;
  std::vector<size_t> used_;  // columns that any row has
  std::vector<double> squares_;  // of each column
  uint64_t rows_ = 0, least_rows_;
  bool determined_ = false;
  double condition_ = 0;
};

}  // namespace kvet::questions
