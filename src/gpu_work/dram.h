// How many bytes per second a GPU's DRAM gives, measured with kernels that do nothing else.
//
// The theoretical peak (memory clock × bus width × 2) is out of reach: refresh, row changes and turning the bus between reading
// and writing take their part. What a kernel could reach at most is what is measured here, for the mix that it has.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu_work/context.h"

namespace kvet::gpu_work {

enum class DramPattern : uint8_t {
  read,  // 16 bytes per thread and load, contiguous
  write,  // the same, stores
  copy,  // as much read as written
  two_to_one,  // twice as much read as written
  random_sectors,  // 32 bytes at random addresses; counted as 32, although the memory may move more
};
inline constexpr std::array dram_patterns = {DramPattern::read, DramPattern::write, DramPattern::copy,
                                             DramPattern::two_to_one, DramPattern::random_sectors};
[[nodiscard]] const char* kernel_name(DramPattern pattern);
[[nodiscard]] const char* describe(DramPattern pattern);  // "1:1 reads and writes"

// Bytes per second, reads and writes together, by the GPU's events. `best` is over all rounds and shapes; the others are over
// the rounds with the best shape.
struct DramRate {
  uint64_t best = 0, median = 0, lowest = 0;
  uint64_t by_globaltimer = 0;  // the best round again, by the blocks' own stamps; 0: they wrote none
  LaunchShape shape;  // blocks: per multiprocessor
  uint32_t rounds = 0;  // with that shape
  // Of the median.
  [[nodiscard]] double spread() const;
};

struct DramMeasurement {
  std::array<DramRate, dram_patterns.size()> rates;  // in the order of dram_patterns
  uint64_t buffer_bytes = 0;  // of each of the three buffers
  std::vector<std::string> notes;  // sentences on what makes a figure doubtful
};

struct DramObserver {
  // A round begins: of how many, for that pattern.
  std::function<void(DramPattern, uint32_t round, uint32_t rounds)> round_begins = [](DramPattern, uint32_t, uint32_t) {
  };
  // The GPU is at work now.
  std::function<void()> at_work = [] {};
};

// How large each of the three buffers may be: at most a third of half of the free memory; 0 where that is less than 20 times
// the L2 cache, of which a larger part would stay in the cache.
[[nodiscard]] uint64_t dram_buffer_bytes(uint64_t free_bytes, uint64_t l2_bytes);

// Takes a few seconds and up to half of the free memory. Errors: too little memory, what the GPU reports, work that does not end.
Result<DramMeasurement> measure_dram(const Context& context, const DramObserver& observer);

}  // namespace kvet::gpu_work
