// Who made the others wait: the ranks' critical paths from one collective to the next, held against each other.
//
// A rank's path from the end of the previous collective to its start of this one is a partition of that time by what it was
// spent on. All ranks left the previous collective together, so what the last rank spent more on each thing than another rank, added
// up, is what that rank waited for it. Time that all ranks spend alike cancels: a kernel is to blame for what it took longer here than
// there, wherever on the path it ran. What it cost the others is how much less they had waited, had it taken here what it takes on
// average there: never more than until the next to last rank came; and less than nothing where it was quick here, and the others had
// waited longer otherwise. So chance cancels too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "questions/nccl_analysis.h"
#include "questions/statistics.h"

namespace kvet::questions {

// One collective whose ranks' paths were followed back to the previous one.
struct Followed {
  std::vector<uint32_t> ranks;
  std::vector<PathTimes> paths;  // of each of them
  size_t last = 0;  // index of the rank that began last
  std::vector<double> ahead_ns;  // how long before the last each rank began
  double waited_ns = 0;  // by all others together
  size_t step = 0;
};
// Visits them one after the other, those between equal sets of ranks by time; the first of each has nothing before it. A long recording
// has more of them than fit into memory.
void follow(const Capture& capture, const NcclAnalysis& analysis, const std::function<void(const Followed&)>& visit);

// How much less the others had waited, per step, had one thing on one rank taken what it takes on the others.
struct Blamed {
  uint32_t rank = 0;
  PathItem item;  // kind kernel with name 0: K, the whole set
  double per_step_ns = 0;
  Interval interval;  // of it, the clocks' residual included
  uint64_t steps = 0;
  double probability = 1;  // of so much more time than on other ranks, if it took the same everywhere
};
class BlameSums {
 public:
  // Of everything on every rank's path; with `kernels`: of them alone, as one thing.
  explicit BlameSums(const Capture& capture, const KernelSet* kernels = nullptr);
  void add(const Followed& one);

  [[nodiscard]] size_t steps() const { return steps_.size(); }
  [[nodiscard]] double waited_per_step() const;
  // What chance explains easily comes without amount and interval, unless it is the kernels'.
  [[nodiscard]] std::vector<Blamed> result(double residual_ns) const;

 private:
  using Values = std::vector<std::pair<size_t, double>>;  // by step, of one step perhaps several
  struct Series {
    Values excess, blame;
  };
  void add(const Followed& one, const PathItem& item, const std::vector<double>& times);
  [[nodiscard]] std::vector<Cluster> in_steps(const Values& values) const;

  bool only_kernels_;
  std::set<StringId> names_;  // of the kernels
  std::map<std::pair<uint32_t, PathItem>, Series> series_;
  std::map<size_t, size_t> steps_;  // to how many collectives they have
  size_t waits_ = 0;
  double waited_ns_ = 0;
};

}  // namespace kvet::questions
