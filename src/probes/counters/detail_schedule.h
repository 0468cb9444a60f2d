// When the metrics that only add detail are sampled: a quarter of the time, since they are two fifths of the cost, in stretches
// of random length, so that no period of the workload always falls into them or beside them.
#pragma once

#include <cstdint>
#include <random>

namespace kvet::probes {

enum class DetailMode : uint8_t { in_turns, always, never };

class DetailSchedule {
 public:
  static constexpr int64_t detail_ns = 500'000'000;  // on average; a recording begins with detail
  static constexpr int64_t lean_ns = 1'500'000'000;

  DetailSchedule(DetailMode mode, uint64_t seed) : mode_(mode), random_(seed) {}
  void begin(int64_t now_ns) {
    lean_ = mode_ == DetailMode::never;
    until_ns_ = mode_ == DetailMode::in_turns ? now_ns + length() : INT64_MAX;
  }
  // Whether to change now; lean() then says to what.
  bool change(int64_t now_ns) {
    if (now_ns < until_ns_) {
      return false;
    }
    lean_ = !lean_;
    until_ns_ = now_ns + length();
    return true;
  }
  [[nodiscard]] bool lean() const { return lean_; }

 private:
  int64_t length() {
    std::uniform_real_distribution<double> part(0.5, 1.5);
    return static_cast<int64_t>(part(random_) * static_cast<double>(lean_ ? lean_ns : detail_ns));
  }
  DetailMode mode_;
  std::mt19937_64 random_;
  bool lean_ = false;
  int64_t until_ns_ = INT64_MAX;
};

}  // namespace kvet::probes
