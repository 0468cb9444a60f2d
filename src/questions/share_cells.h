// The samples of a device by sibling set and saturation, with a regression for each: the arithmetic behind share_estimate.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "questions/share_estimate.h"

namespace kvet::questions {

class ShareCells {
 public:
  enum class Systems : uint8_t { all_sets, each_set };  // all_sets: one regression of everything

  ShareCells(const ShareTable& table, const ShareInput& input, double lag_ns, Systems systems);

  // Of K's co-run time.
  [[nodiscard]] uint64_t samples() const { return samples_; }
  // Σ (count − fit)² of the regression of everything. Empty where it is not determined.
  [[nodiscard]] std::optional<double> residual_squares() const;
  // Finds what the shapes' executions must have counted under saturation. Before evaluate().
  void balance(const Capture& capture, DeviceId device);
  [[nodiscard]] std::optional<ShareEstimate> evaluate(size_t without_block = ShareSystem::every_block) const;
  // What the standard errors of the solo costs do to K's share.
  [[nodiscard]] double solo_error() const;
  // How far the regression on saturated samples and what the warps would ask for lie apart, where it takes one of them.
  [[nodiscard]] double model_error();

 private:
  // Sums over samples of one kind.
  struct Sums {
    std::vector<double> warp_ns;  // by party
    double copies = 0, earlier = 0, count = 0, time_ns = 0;
  };
  struct Cell {
    std::vector<double> present;  // warp time by party, before any lag
    Sums corun, all;
    bool saturated = false;
    bool single = false;  // one party and no copies: everything is its own
    std::optional<ShareSystem> system;
    uint64_t rows = 0;
  };
  struct Seen {
    const ShareRow* row;
    Observation observation;
    double weight = 0;  // part of the sample that is K's co-run time
    bool saturated = false;
  };
  // What is known of a launch shape's executions: Σ over them of the part that was sampled.
  struct Progress {
    double executions = 0;
    SoloCost cost;
  };
  void observe(double lag_ns);
  void sort_into_cells();
  void add_up(Cell& cell, const Seen& seen) const;
  void build(Systems systems);
  // Neighbouring saturated samples of one set, few enough to go over them again and again.
  struct Stretch {
    const Cell* cell;
    size_t set;
    std::vector<std::pair<size_t, double>> warp_ns;
    double copies = 0, count = 0;
    double corun_ns = 0, length_ns = 0;
  };

  // evaluate() in parts (share_split.cpp, share_saturated.cpp). `raised`: the party whose solo cost is taken one standard error
  // higher.
  struct Split;
  struct Saturated;
  [[nodiscard]] bool by_rows(const Cell& cell) const { return cell.saturated && !cell.single && saturated_by_rows_; }
  [[nodiscard]] std::optional<Split> split(const Cell& cell, size_t set, const Sums& sums, size_t without_block) const;
  [[nodiscard]] Saturated split_saturated(size_t without_block, size_t raised) const;
  [[nodiscard]] std::map<size_t, double> left_for_saturation(size_t without_block, size_t raised) const;
  [[nodiscard]] std::optional<ShareEstimate> evaluate(size_t without_block, size_t raised) const;
  [[nodiscard]] const ShareSystem* system_for(const Cell& cell, size_t set) const;
  void gather_stretches();

  const ShareTable& table_;
  const ShareInput& input_;
  double lag_ns_;
  std::vector<double> present_;  // warp time by party
  std::vector<Seen> seen_;
  std::map<std::pair<size_t, bool>, Cell> cells_;  // by set and saturation
  std::optional<ShareSystem> all_;  // without saturation
  std::map<size_t, Progress> progress_;  // by party
  std::vector<Stretch> stretches_;
  bool saturated_by_rows_ = false;
  uint64_t samples_ = 0;
};

}  // namespace kvet::questions
