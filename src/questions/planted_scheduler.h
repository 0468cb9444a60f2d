// For tests: a simulated device whose block scheduler places blocks on SMs by their resources, with random durations, and which
// integrates counter samples beside the truth per kernel. It shares no arithmetic with what it judges: resources are counted
// per SM in warps, registers and bytes, event by event.
//
// Launch policy as observed on hardware: blocks of kernels are handed out in the order in which the kernels became ready; with
// `backfill`, a later kernel also gets what does not fit for the earlier ones at the moment.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "questions/planted_device.h"

namespace kvet::questions {

struct PlantedKernel {
  std::string name;
  uint32_t warps = 8, registers = 32, shared = 0, grid = 100;
  double block_ns = 50'000, spread = 0.1;  // mean duration of a block, and the standard deviation of its logarithm
  double warps_that_stay = 1;  // the rest exits early
  double exit_after = 0;  // part of the block's time after which it does
};
// Launches its kernels one after the other, again and again, with a random pause before each.
struct PlantedStream {
  std::vector<size_t> kernels;
  double pause_ns = 5'000;
};

struct PlantedRun {
  uint32_t multiprocessors = 20;
  int64_t length_ns = 10'000'000, step_ns = 10'000;
  double reading_noise = 0.003;  // relative, of each sum of each sample
  double small_shared_read = 0.7;  // part of the shared memory of blocks below 4 KiB that is read
  double clock_error_ns = 0;  // added to all times of samples
  double edge_jitter_ns = 0;  // of starts and ends of executions
  bool backfill = false;
  uint64_t seed = 1;
};

class PlantedScheduler {
 public:
  PlantedDevice device;  // its capture is the result
  std::vector<ShapeId> shapes;  // by kernel
  std::vector<std::vector<double>> truth;  // [sample][kernel]: warp × ns in that sample
  struct Piece {  // of true time, in which one set of kernels had resident blocks or ran
    double from, to;
    uint32_t running;  // bit per kernel
    std::vector<double> warps;
  };
  std::vector<Piece> pieces;

  PlantedScheduler(std::vector<PlantedKernel> kernels, std::vector<PlantedStream> streams, const PlantedRun& run)
      : kernels_(std::move(kernels)), streams_(std::move(streams)), run_(run), random_(run.seed) {
    device.capture.devices[0].multiprocessors = run_.multiprocessors;
    for (const PlantedKernel& kernel : kernels_) {
      shapes.push_back(device.kernel(kernel.name, kernel.warps * 32, kernel.registers, kernel.shared, kernel.grid));
    }
    sms_.resize(run_.multiprocessors);
    const auto samples = static_cast<size_t>(run_.length_ns / run_.step_ns);
    sums_.resize(samples);
    truth.assign(samples, std::vector<double>(kernels_.size()));
    alive_.assign(kernels_.size(), 0);
    under_way_.assign(kernels_.size(), 0);
    for (size_t i = 0; i < streams_.size(); ++i) {
      events_.push({pause(i), Event::Kind::launch, static_cast<uint32_t>(i), 0});
    }
    while (!events_.empty() && events_.top().time < static_cast<double>(run_.length_ns)) {
      const Event event = events_.top();
      events_.pop();
      advance(event.time);
      switch (event.kind) {
        case Event::Kind::launch: launch(event.index); break;
        case Event::Kind::exit: exit_early(event.index); break;
        case Event::Kind::end: end_block(event); break;
      }
      place();
    }
    advance(static_cast<double>(run_.length_ns));
    finish();
  }

  // Mean share of the warp slots of the kernels in `own` (bits) while the kernels in `running` (bits) and no others run;
  // 0: while one of `own` and any other runs.
  [[nodiscard]] double share(uint32_t own, uint32_t running = 0) const {
    double warps = 0, time = 0;
    for (const Piece& piece : pieces) {
      const bool counts =
          running != 0 ? piece.running == running : (piece.running & own) != 0 && (piece.running & ~own) != 0;
      if (counts) {
        time += piece.to - piece.from;
        for (size_t k = 0; k < kernels_.size(); ++k) {
          warps += (own >> k & 1) != 0 ? piece.warps[k] * (piece.to - piece.from) : 0;
        }
      }
    }
    return time > 0 ? warps / time / slots() : 0;
  }
  [[nodiscard]] double time(uint32_t running) const {
    double sum = 0;
    for (const Piece& piece : pieces) {
      sum += piece.running == running ? piece.to - piece.from : 0;
    }
    return sum;
  }
  [[nodiscard]] double slots() const { return 64.0 * run_.multiprocessors; }

 private:
  struct Sm {
    uint32_t warps = 64, registers = 65536, shared = 228 * 1024, blocks = 32;
  };
  struct Grid {
    size_t kernel, stream;
    uint32_t to_place, to_end;
    double start = -1;
  };
  struct Event {
    double time;
    enum class Kind : uint8_t { launch, exit, end } kind;
    uint32_t index, sm;  // of the grid or the stream
    bool operator<(const Event& other) const { return time > other.time; }
  };
  struct Sums {
    double warps = 0, registers = 0, shared = 0, launched = 0, completed = 0;
  };

  double pause(size_t stream) {
    return now_ + streams_[stream].pause_ns * std::exponential_distribution<double>{1}(random_) + 200;
  }
  [[nodiscard]] static uint32_t registers(const PlantedKernel& kernel) {
    return (kernel.registers * 32 + 255) / 256 * 256 * kernel.warps;
  }
  [[nodiscard]] static uint32_t shared(const PlantedKernel& kernel) { return (kernel.shared + 1024 + 127) / 128 * 128; }

  void launch(uint32_t stream) {
    const size_t kernel = streams_[stream].kernels[next_[stream]++ % streams_[stream].kernels.size()];
    grids_.push_back({kernel, stream, kernels_[kernel].grid, kernels_[kernel].grid});
    ready_.push_back(static_cast<uint32_t>(grids_.size() - 1));
  }
  void place() {
    for (size_t i = 0; i < ready_.size(); ++i) {
      while (grids_[ready_[i]].to_place > 0 && place_one(ready_[i])) {
      }
      if (grids_[ready_[i]].to_place > 0 && !run_.backfill) {
        break;
      }
    }
    while (!ready_.empty() && grids_[ready_.front()].to_place == 0) {
      ready_.pop_front();
    }
    std::erase_if(ready_, [&](uint32_t index) { return grids_[index].to_place == 0; });
  }
  bool place_one(uint32_t index) {
    Grid& grid = grids_[index];
    const PlantedKernel& kernel = kernels_[grid.kernel];
    // To the SM with most free warps.
    size_t best = sms_.size();
    for (size_t i = 0; i < sms_.size(); ++i) {
      const Sm& sm = sms_[i];
      if (sm.warps >= kernel.warps && sm.registers >= registers(kernel) && sm.shared >= shared(kernel) &&
          sm.blocks > 0 && (best == sms_.size() || sm.warps > sms_[best].warps)) {
        best = i;
      }
    }
    if (best == sms_.size()) {
      return false;
    }
    take(sms_[best], kernel, 1);
    if (grid.start < 0) {
      grid.start = now_;
      ++under_way_[grid.kernel];
    }
    --grid.to_place;
    alive_[grid.kernel] += kernel.warps;
    resident_.warps += kernel.warps;
    sum().launched += kernel.warps;
    const double spread = kernel.spread * std::normal_distribution<double>{}(random_);
    const double length = kernel.block_ns * std::exp(spread - kernel.spread * kernel.spread / 2);
    if (kernel.warps_that_stay < 1) {
      events_.push({now_ + kernel.exit_after * length, Event::Kind::exit, index, 0});
    }
    events_.push({now_ + length, Event::Kind::end, index, static_cast<uint32_t>(best)});
    return true;
  }
  void take(Sm& sm, const PlantedKernel& kernel, int sign) {
    const auto part = static_cast<uint32_t>(sign);  // wraps as meant
    sm.warps -= part * kernel.warps;
    sm.registers -= part * registers(kernel);
    sm.shared -= part * shared(kernel);
    sm.blocks -= part;
    resident_.registers += sign * static_cast<double>(registers(kernel));
    resident_.shared += sign * (kernel.shared < 4096 ? run_.small_shared_read : 1.0) * shared(kernel);
  }
  void exit_early(uint32_t index) {
    const PlantedKernel& kernel = kernels_[grids_[index].kernel];
    alive_[grids_[index].kernel] -= kernel.warps * (1 - kernel.warps_that_stay);
    resident_.warps -= kernel.warps * (1 - kernel.warps_that_stay);
  }
  void end_block(const Event& event) {
    Grid& grid = grids_[event.index];
    take(sms_[event.sm], kernels_[grid.kernel], -1);
    const double left = kernels_[grid.kernel].warps * kernels_[grid.kernel].warps_that_stay;
    alive_[grid.kernel] -= left;
    resident_.warps -= left;
    sum().completed += 1;
    if (--grid.to_end == 0) {
      --under_way_[grid.kernel];
      add_execution(grid, now_);
      events_.push({pause(grid.stream), Event::Kind::launch, static_cast<uint32_t>(grid.stream), 0});
    }
  }
  void add_execution(const Grid& grid, double end) {
    std::normal_distribution<double> jitter{0, run_.edge_jitter_ns};
    device.run(shapes[grid.kernel], 7 + static_cast<uint32_t>(grid.stream),
               std::llround(grid.start + (run_.edge_jitter_ns > 0 ? jitter(random_) : 0)),
               std::llround(end + (run_.edge_jitter_ns > 0 ? jitter(random_) : 0)));
  }
  Sums& sum() {
    return sums_[std::min(sums_.size() - 1, static_cast<size_t>(now_ / static_cast<double>(run_.step_ns)))];
  }
  void advance(double to) {
    if (to > now_) {
      uint32_t running = 0;
      for (size_t k = 0; k < kernels_.size(); ++k) {
        running |= under_way_[k] > 0 ? 1u << k : 0;
      }
      pieces.push_back({now_, to, running, alive_});
    }
    while (now_ < to) {
      const auto step = static_cast<double>(run_.step_ns);
      const auto index = std::min(sums_.size() - 1, static_cast<size_t>(now_ / step));
      const double until = index + 1 == sums_.size() ? to : std::min(to, step * static_cast<double>(index + 1));
      const double part = until - now_;
      sums_[index].warps += part * resident_.warps;
      sums_[index].registers += part * resident_.registers;
      sums_[index].shared += part * resident_.shared;
      for (size_t k = 0; k < kernels_.size(); ++k) {
        truth[index][k] += part * alive_[k];
      }
      now_ = until;
    }
  }
  void finish() {
    for (const Grid& grid : grids_) {  // what runs on ends somewhere behind the last sample
      if (grid.to_end > 0 && grid.start >= 0) {
        add_execution(grid, static_cast<double>(run_.length_ns) + 50'000);
      }
    }
    device.sample(0, run_.length_ns, run_.step_ns);
    std::normal_distribution<double> noise{1, run_.reading_noise};
    for (size_t i = 0; i < sums_.size(); ++i) {
      Sample& sample = device.capture.samples[i];
      sample.start_ns += std::llround(run_.clock_error_ns);
      sample.end_ns += std::llround(run_.clock_error_ns);
      sample.warp_cycles = sums_[i].warps * noise(random_);
      sample.register_cycles = sums_[i].registers * noise(random_);
      sample.shared_byte_cycles = sums_[i].shared * noise(random_);
      sample.warps_launched = sums_[i].launched;
      sample.blocks_completed = sums_[i].completed;
    }
  }

  std::vector<PlantedKernel> kernels_;
  std::vector<PlantedStream> streams_;
  PlantedRun run_;
  std::mt19937_64 random_;
  double now_ = 0;
  std::vector<Sm> sms_;
  std::vector<Sums> sums_;
  Sums resident_;
  std::vector<double> alive_;
  std::vector<uint32_t> under_way_;
  std::vector<Grid> grids_;
  std::deque<uint32_t> ready_;
  std::map<size_t, size_t> next_;
  std::priority_queue<Event> events_;
};

}  // namespace kvet::questions
