// When to look closer: short bursts of samples at a finer interval, at random times, so that no period of the workload
// keeps falling between them.
#pragma once

#include <cstdint>
#include <random>

namespace kvet::probes {

struct BurstPlan {
  uint64_t interval_ns = 10'000;     // between two samples of a burst
  uint64_t length_ns = 10'000'000;   // of a burst; 0: no bursts
  uint64_t period_ns = 30'000'000'000;  // from one burst to the next, on average
  [[nodiscard]] bool wanted() const { return length_ns > 0 && period_ns > 0; }
};

// Distances are exponentially distributed, which makes every moment as likely as any other (a Poisson process), but for a
// floor that keeps two bursts from running into each other and a ceiling that keeps a recording from going without.
class BurstSchedule {
 public:
  BurstSchedule(const BurstPlan& plan, uint64_t seed) : plan_(plan), random_(seed) {}

  // The first burst comes one distance after `now_ns`.
  void begin(int64_t now_ns) { next_ns_ = now_ns + distance(); }
  [[nodiscard]] bool due(int64_t now_ns) const { return plan_.wanted() && now_ns >= next_ns_; }
  [[nodiscard]] const BurstPlan& plan() const { return plan_; }
  [[nodiscard]] int64_t next_ns() const { return next_ns_; }

 private:
  int64_t distance();
  BurstPlan plan_;
  std::mt19937_64 random_;
  int64_t next_ns_ = INT64_MAX;
};

}  // namespace kvet::probes
