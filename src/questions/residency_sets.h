// Which launch shapes ran side by side, and how large each one's share is in each such set.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "questions/residency.h"
#include "questions/residency_vectors.h"

namespace kvet::questions {

class SiblingSets {
 public:
  // The index of the set of these shapes, sorted and without repetition. From `most_sets` on all new ones share one.
  size_t index_of(const std::vector<ShapeId>& shapes);

  // Mean share while it runs: what earlier samples of this set say of the shape, else what all sets say; negative: nothing.
  [[nodiscard]] double rate(size_t set, ShapeId shape) const;
  void add_to_rate(size_t set, ShapeId shape, double share_ns, double time_ns);
  void next_pass();  // rates added so far are what rate() says; begin anew

  void add_time(size_t set, double time_ns, bool resolved, bool by_flows);
  [[nodiscard]] std::vector<SiblingSet> finish(ShapeVectors& vectors, bool registers, bool shared);

 private:
  struct Rate {
    double share_ns = 0, time_ns = 0;
  };
  struct Member {
    Rate known, next;
  };
  struct Hash {
    size_t operator()(const std::vector<ShapeId>& shapes) const noexcept;
  };
  struct Entry {
    std::vector<ShapeId> shapes;
    std::vector<Member> members;
    double time_ns = 0, resolved_ns = 0, flows_ns = 0;
  };
  std::unordered_map<std::vector<ShapeId>, size_t, Hash> index_;
  std::vector<Entry> sets_;
  std::vector<Member> everywhere_;  // by shape
};

// Rank and condition number (infinite below full rank) of the shapes' vectors, each scaled to length 1.
struct SystemShape {
  size_t rank = 0;
  double condition = 0;
};
SystemShape system_shape(const std::vector<ShapeId>& shapes, ShapeVectors& vectors, bool registers, bool shared);

}  // namespace kvet::questions
