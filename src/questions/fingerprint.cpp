#include "questions/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "questions/regression.h"

namespace kvet::questions {
namespace {

// Beyond it, 1% of error in a reading is 30% of error in the answer.
constexpr double condition_limit = 30;
constexpr double reading_error = 0.01;
constexpr double parallel_cosine = 0.9999;

double dot(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

}  // namespace

FingerprintSplit::FingerprintSplit(const std::vector<SplitKernel>& kernels, bool shared_known) {
  system_.equations = shared_known ? 3 : 2;
  for (const SplitKernel& kernel : kernels) {
    Column column{{kernel.per_block.warps, kernel.per_block.registers, shared_known ? kernel.per_block.shared : 0},
                  kernel.own};
    const double length = std::sqrt(dot(column.value, column.value));
    if (!(length > 0)) {
      continue;
    }
    for (double& value : column.value) {
      value /= length;
    }
    const auto same = std::ranges::find_if(
        columns_, [&](const Column& other) { return dot(other.value, column.value) > parallel_cosine; });
    if (same == columns_.end()) {
      columns_.push_back(column);
    } else if (same->own != column.own) {
      system_.parallel = true;
    }
  }
  system_.unknowns = columns_.size();
  std::vector<double> gram(columns_.size() * columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    for (size_t j = 0; j < columns_.size(); ++j) {
      gram[i * columns_.size() + j] = dot(columns_[i].value, columns_[j].value);
    }
  }
  const std::vector<double> values = eigenvalues(std::move(gram), columns_.size());
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  for (double value : values) {
    largest = std::max(largest, value);
    smallest = std::min(smallest, value);
  }
  for (double value : values) {
    system_.rank += value > 1e-9 * largest ? 1 : 0;
  }
  system_.condition = !values.empty() && system_.rank == values.size() ? std::sqrt(largest / smallest)
                                                                       : std::numeric_limits<double>::infinity();
  system_.resolved = !system_.parallel && !columns_.empty() && system_.condition <= condition_limit;
}

FingerprintSplit::Share FingerprintSplit::solve(const ResourceShares& measured) const {
  const size_t n = columns_.size();  // at most 3: full rank in 3 equations
  const double b[3] = {measured.warps, measured.registers, system_.equations == 3 ? measured.shared : 0};
  // The non-negative optimum is the unbounded optimum of some subset of columns: with at most 3, try all.
  double best = std::numeric_limits<double>::infinity();
  std::vector<double> answer(n);
  for (uint32_t subset = 1; subset < (1u << n); ++subset) {
    std::vector<size_t> in;
    for (size_t i = 0; i < n; ++i) {
      if ((subset >> i & 1) != 0) {
        in.push_back(i);
      }
    }
    std::vector<double> gram(in.size() * in.size()), x(in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      x[i] = dot(columns_[in[i]].value, b);
      for (size_t j = 0; j < in.size(); ++j) {
        gram[i * in.size() + j] = dot(columns_[in[i]].value, columns_[in[j]].value);
      }
    }
    if (!solve_positive_definite(std::move(gram), x, in.size()) ||
        std::ranges::any_of(x, [](double value) { return value < 0; })) {
      continue;
    }
    double residual = 0;
    for (size_t row = 0; row < 3; ++row) {
      double left = b[row];
      for (size_t i = 0; i < in.size(); ++i) {
        left -= columns_[in[i]].value[row] * x[i];
      }
      residual += left * left;
    }
    if (residual < best) {
      best = residual;
      std::ranges::fill(answer, 0);
      for (size_t i = 0; i < in.size(); ++i) {
        answer[in[i]] = x[i];
      }
    }
  }
  double own = 0, all = 0;
  for (size_t i = 0; i < n; ++i) {
    const double warps = answer[i] * columns_[i].value[0];
    all += warps;
    own += columns_[i].own ? warps : 0;
  }
  Share share;
  share.own = all > 0 ? own / all : 0;
  // Readings off by 1% each turn the vector of readings by at most that; the answer turns by at most the condition number
  // times as much.
  share.error = std::min(1.0, system_.condition * reading_error);
  return share;
}

ShareRange share_range(const std::vector<BoundedKernel>& kernels, const ResourceShares& measured, bool shared_known) {
  double own_most = 0, others_most = 0;
  for (const BoundedKernel& each : kernels) {
    const ResourceShares& block = each.kernel.per_block;
    double most = std::min(each.most_warps, measured.warps);
    if (block.warps <= 0) {
      continue;
    }
    if (block.registers > 0) {
      most = std::min(most, measured.registers / block.registers * block.warps);
    }
    if (shared_known && block.shared > 0) {
      most = std::min(most, measured.shared / block.shared * block.warps);
    }
    (each.kernel.own ? own_most : others_most) += most;
  }
  return {std::max(0.0, measured.warps - others_most), std::min(measured.warps, own_most)};
}

}  // namespace kvet::questions
