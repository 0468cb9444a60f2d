#include "questions/residency_sets.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "questions/regression.h"

namespace kvet::questions {
namespace {

// A set of three shapes costs about 200 bytes: 50 MB at most.
constexpr size_t most_sets = 250'000;
constexpr double trusted_time_ns = 1;
constexpr double most_of_it = 0.5;

}  // namespace

size_t SiblingSets::Hash::operator()(const std::vector<ShapeId>& shapes) const noexcept {
  uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (ShapeId shape : shapes) {
    hash = (hash ^ shape.value) * 1099511628211ULL;
  }
  return hash;
}

size_t SiblingSets::index_of(const std::vector<ShapeId>& shapes) {
  const auto found = index_.find(shapes);
  if (found != index_.end()) {
    return found->second;
  }
  if (sets_.size() > most_sets) {
    return most_sets;
  }
  const std::vector<ShapeId> kept = sets_.size() == most_sets ? std::vector<ShapeId>{} : shapes;
  sets_.push_back({kept, std::vector<Member>(kept.size()), 0, 0, 0});
  if (sets_.size() <= most_sets) {
    index_.emplace(shapes, sets_.size() - 1);
  }
  return sets_.size() - 1;
}

double SiblingSets::rate(size_t set, ShapeId shape) const {
  const Entry& entry = sets_[set];
  const auto at = std::ranges::lower_bound(entry.shapes, shape);
  if (at != entry.shapes.end() && *at == shape) {
    const Rate& known = entry.members[static_cast<size_t>(at - entry.shapes.begin())].known;
    if (known.time_ns > trusted_time_ns) {
      return known.share_ns / known.time_ns;
    }
  }
  if (shape.value < everywhere_.size() && everywhere_[shape.value].known.time_ns > trusted_time_ns) {
    return everywhere_[shape.value].known.share_ns / everywhere_[shape.value].known.time_ns;
  }
  return -1;
}

void SiblingSets::add_to_rate(size_t set, ShapeId shape, double share_ns, double time_ns) {
  if (shape.value >= everywhere_.size()) {
    everywhere_.resize(shape.value + 1);
  }
  auto add = [&](Rate& rate) {
    rate.share_ns += share_ns;
    rate.time_ns += time_ns;
  };
  add(everywhere_[shape.value].next);
  Entry& entry = sets_[set];
  const auto at = std::ranges::lower_bound(entry.shapes, shape);
  if (at != entry.shapes.end() && *at == shape) {
    add(entry.members[static_cast<size_t>(at - entry.shapes.begin())].next);
  }
}

void SiblingSets::next_pass() {
  auto turn = [](Member& member) {
    member.known = member.next;
    member.next = {};
  };
  std::ranges::for_each(everywhere_, turn);
  for (Entry& entry : sets_) {
    std::ranges::for_each(entry.members, turn);
  }
}

void SiblingSets::add_time(size_t set, double time_ns, bool resolved, bool by_flows) {
  sets_[set].time_ns += time_ns;
  sets_[set].resolved_ns += resolved ? time_ns : 0;
  sets_[set].flows_ns += by_flows ? time_ns : 0;
}

std::vector<SiblingSet> SiblingSets::finish(ShapeVectors& vectors, bool registers, bool shared) {
  std::vector<SiblingSet> result;
  result.reserve(sets_.size());
  for (Entry& entry : sets_) {
    SiblingSet set;
    const SystemShape shape = system_shape(entry.shapes, vectors, registers, shared);
    set.rank = shape.rank;
    set.condition = shape.condition;
    set.time_ns = entry.time_ns;
    set.resolved = entry.time_ns > 0 && entry.resolved_ns >= most_of_it * entry.time_ns;
    const bool flows = entry.time_ns > 0 && entry.flows_ns >= most_of_it * entry.time_ns;
    set.method = flows ? "fingerprint and conservation" : "fingerprint";
    if (!set.resolved) {
      set.method = entry.shapes.empty() ? "unresolved: one of too many sets"
                   : set.rank < entry.shapes.size()
                       ? fmt::format("unresolved: rank {} for {} launch shapes", set.rank, entry.shapes.size())
                       : fmt::format("unresolved: condition number {:.0f}", set.condition);
    }
    set.shapes = std::move(entry.shapes);
    result.push_back(std::move(set));
  }
  return result;
}

SystemShape system_shape(const std::vector<ShapeId>& shapes, ShapeVectors& vectors, bool registers, bool shared) {
  SystemShape result;
  std::vector<std::array<double, 3>> columns;
  for (ShapeId id : shapes) {
    const ShapeVector& vector = vectors.of(id);
    std::array<double, 3> column{vector.alive, registers ? vector.registers : 0, shared ? vector.shared : 0};
    const double length = std::sqrt(column[0] * column[0] + column[1] * column[1] + column[2] * column[2]);
    for (double& each : column) {
      each /= length;
    }
    columns.push_back(column);
  }
  // The rank is at most 3, so the eigenvalues of the 3 × 3 matrix of the rows are those of the vectors' Gram matrix that
  // are not 0.
  std::vector<double> matrix(9);
  for (const auto& column : columns) {
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) {
        matrix[3 * i + j] += column[i] * column[j];
      }
    }
  }
  std::vector<double> values = eigenvalues(std::move(matrix), 3);
  std::ranges::sort(values, std::greater<>{});
  while (result.rank < 3 && values[result.rank] > 1e-9 * values[0] && values[0] > 0) {
    ++result.rank;
  }
  result.condition = result.rank == shapes.size() && result.rank > 0 ? std::sqrt(values[0] / values[result.rank - 1])
                                                                     : std::numeric_limits<double>::infinity();
  return result;
}

}  // namespace kvet::questions
