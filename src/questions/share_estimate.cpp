#include "questions/share_estimate.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "questions/share_cells.h"
#include "questions/statistics.h"

namespace kvet::questions {
namespace {

// How long write-back may lag behind, ns: the time constants that are tried.
constexpr double lags_ns[] = {0, 5e3, 10e3, 20e3, 50e3};
// A lag must explain this much more of the squares to be believed.
constexpr double lag_worth = 0.98;
// Of the sampled co-run time: beyond, a share would rest on guesses.
constexpr double most_unresolved = 0.5;

double lag_that_fits(const ShareTable& table, const ShareInput& input) {
  if (!input.lagging) {
    return 0;
  }
  double best = 0, least = -1;
  for (double lag : lags_ns) {
    ShareCells cells{table, input, lag, ShareCells::Systems::all_sets};
    const std::optional<double> squares = cells.residual_squares();
    if (squares && (least < 0 || *squares < lag_worth * least)) {
      best = lag;
      least = *squares;
    }
  }
  return best;
}

}  // namespace

std::optional<double> share_half_width(const std::vector<double>& without_block, double own, double other_error) {
  if (without_block.size() < 2) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(without_block.size());
  double squares = 0;
  for (double each : without_block) {
    squares += (each - own) * (each - own);
  }
  const double variance = (count - 1) / count * squares;
  return t_quantile_975(count - 1) * std::sqrt(variance + other_error * other_error);
}

ShareResult estimate_shares(const Capture& capture, DeviceId device, const ShareTable& table, const ShareInput& input) {
  ShareResult result;
  if (table.sampled_ns <= 0) {
    result.reason = "no sample lies in co-run time of this kernel";
    result.advice = "record with a shorter --interval, or longer";
    return result;
  }
  if (table.unresolved_ns > most_unresolved * table.sampled_ns) {
    result.reason = "unresolved: which warps are whose beside its siblings is not determined, and shares rest on it";
    result.advice =
        "give one of the kernels another block size or register count, or record it beside one sibling at a time";
    return result;
  }
  ShareCells cells{table, input, lag_that_fits(table, input), ShareCells::Systems::each_set};
  if (cells.samples() == 0) {
    result.reason = "the counter samples of its co-run time do not hold this count";
    result.advice = "`kvet doctor` says which counters this device has";
    return result;
  }
  cells.balance(capture, device);
  auto estimate = cells.evaluate();
  if (!estimate) {
    result.reason = cells.samples() < 30
                        ? "too few samples of its co-run time for a regression"
                        : "the warps of the kernels rise and fall together too much to tell who causes what";
    result.advice = "record longer, or with a shorter --interval; once alone would help";
    return result;
  }
  for (size_t block = 0; block < table.blocks; ++block) {
    if (const auto without = cells.evaluate(block)) {
      estimate->without_block.push_back(without->own);
    }
  }
  estimate->solo_error = cells.solo_error();
  estimate->model_error =
      cells.model_error() + estimate->own * table.unresolved_error * table.unresolved_ns / table.sampled_ns;
  result.estimate = std::move(estimate);
  return result;
}

}  // namespace kvet::questions
