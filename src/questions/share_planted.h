// For tests: kernels that overlap on one device, with resident warps over time and counts per warp that are planted, a memory
// that saturates, write-back that lags, and noise that has a memory. Simulated in steps of 2 us; none of kvet's arithmetic is used.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "questions/planted_device.h"
#include "questions/residency.h"

namespace kvet::questions {

struct PlantedSharer {
  const char* name;
  double warps = 2000;  // of the device, at its fullest
  double read = 0, write = 0;  // bytes per warp and ns while the memory is not saturated
  int64_t duration_ns = 300'000;  // alone, with three quarters of its warps: every execution has the same work to do
  int64_t gap_ns = 200'000;  // mean; each is drawn from half to one and a half of it
  double bound = 1;  // how much of its speed the memory decides: 1 is a copy
  double instructions = 0;  // per warp and ns at full speed
};

struct PlantedWorld {
  double most_bytes_per_ns = 1e9;  // what the memory gives to all together
  double write_back_ns = 0;  // time constant
  double noise = 0.05;  // of each kernel's bytes, relative, in each step
  double noise_memory_ns = 0;  // how long it stays alike
  double warp_noise = 0;  // standard deviation of the residency that the regression is given, warps
  double warp_memory_ns = 40'000;  // how long resident warps stay alike
  int64_t length_ns = 40'000'000, sample_ns = 10'000;
  bool flags = false;  // the mutant: who ran instead of whose warps were resident
};

class PlantedShares {
 public:
  PlantedDevice device;
  DeviceResidency residency;
  // By sample, by sharer: what came from it.
  struct Truth {
    std::vector<double> bytes, instructions;
  };
  std::vector<Truth> truth;

  PlantedShares(const std::vector<PlantedSharer>& sharers, const PlantedWorld& world, uint64_t seed) : random_(seed) {
    constexpr int64_t step = 2000;
    const auto steps = static_cast<size_t>(world.length_ns / step),
               per_sample = static_cast<size_t>(world.sample_ns / step);
    std::vector<State> states;
    for (size_t i = 0; i < sharers.size(); ++i) {
      states.push_back({device.kernel(sharers[i].name, 256, 32 + 32 * static_cast<uint32_t>(i))});
      states.back().next_ns = static_cast<int64_t>(uniform() * static_cast<double>(sharers[i].gap_ns));
    }
    const double noise_kept = world.noise_memory_ns > 0 ? std::exp(-step / world.noise_memory_ns) : 0;
    const double warps_kept = std::exp(-step / world.warp_memory_ns);
    double read = 0, write = 0, instructions = 0;
    for (size_t at = 0; at < steps; ++at) {
      const auto now = static_cast<int64_t>(at) * step;
      for (size_t i = 0; i < states.size(); ++i) {
        State& state = states[i];
        const PlantedSharer& sharer = sharers[i];
        advance(state, sharer, now, i);
        state.mood = warps_kept * state.mood + std::sqrt(1 - warps_kept * warps_kept) * normal();
        state.noise = noise_kept * state.noise + std::sqrt(1 - noise_kept * noise_kept) * normal();
        // Blocks come and go, and the last tenth of the work is a tail.
        state.now = state.running ? sharer.warps * std::clamp(0.75 + 0.2 * state.mood, 0.1, 1.0) *
                                        std::clamp(10 * state.left / state.work, 0.1, 1.0)
                                  : 0;
      }
      const double given = given_to_all(states, sharers, world.most_bytes_per_ns);
      for (size_t i = 0; i < states.size(); ++i) {
        State& state = states[i];
        const double works = speed(sharers[i], given) * state.now * static_cast<double>(step);
        const double moves = works * std::max(0.0, 1 + world.noise * state.noise);
        state.left -= works;
        state.read += moves * sharers[i].read;
        read += moves * sharers[i].read;
        instructions += works * sharers[i].instructions;
        state.instructions += works * sharers[i].instructions;
        state.outstanding += moves * sharers[i].write;
        const double drained = world.write_back_ns > 0 ? state.outstanding * (1 - std::exp(-step / world.write_back_ns))
                                                       : state.outstanding;
        state.outstanding -= drained;
        state.write += drained;
        write += drained;
        state.warps += state.now / static_cast<double>(per_sample);
        state.steps += state.running ? 1 : 0;
      }
      if ((at + 1) % per_sample == 0) {
        emit(states, sharers, world, now + step, read, write, instructions);
        read = write = instructions = 0;
      }
    }
    for (size_t i = 0; i < states.size(); ++i) {
      if (states[i].running) {
        run(states[i], i, world.length_ns);
      }
    }
    std::ranges::stable_sort(device.capture.executions, {}, &Execution::start_ns);
    size_t first = 0;
    for (size_t i = 0; i < residency.samples.size(); ++i) {
      residency.samples[i].sample = &device.capture.samples[sample_of_[i]];
      residency.samples[i].kernels = std::span{residency.kernels}.subspan(first, kernels_of_[i]);
      first += kernels_of_[i];
    }
  }

 private:
  struct State {
    ShapeId shape;
    bool running = false;
    int64_t next_ns = 0, start_ns = 0;
    double work = 0, left = 0;  // warps × ns at full speed
    double outstanding = 0;  // written, and still in L2
    double mood = 0, noise = 0;
    double now = 0;  // warps in this step
    double warps = 0, read = 0, write = 0, instructions = 0;  // in this sample
    size_t steps = 0;
  };
  double uniform() { return std::uniform_real_distribution<double>{0, 1}(random_); }
  double normal() { return std::normal_distribution<double>{}(random_); }

  void run(const State& state, size_t index, int64_t end_ns) {
    device.run(state.shape, static_cast<uint32_t>(7 + index), state.start_ns, end_ns);
  }
  void advance(State& state, const PlantedSharer& sharer, int64_t now, size_t index) {
    if (state.running && state.left <= 0) {
      run(state, index, now);
      state.running = false;
      state.next_ns = now + grid(static_cast<double>(sharer.gap_ns) * (0.5 + uniform()));
    }
    if (!state.running && now >= state.next_ns) {
      state.running = true;
      state.start_ns = now;
      state.left = state.work = 0.75 * sharer.warps * static_cast<double>(sharer.duration_ns);
    }
  }
  // With full supply 1; a kernel that the memory decides by half runs at two thirds where it gets half.
  static double speed(const PlantedSharer& sharer, double given) {
    return 1 / (1 - sharer.bound + sharer.bound / given);
  }
  // The part of what copies would ask for that the memory can give.
  static double given_to_all(const std::vector<State>& states, const std::vector<PlantedSharer>& sharers, double most) {
    auto moved = [&](double given) {
      double sum = 0;
      for (size_t i = 0; i < states.size(); ++i) {
        sum += states[i].now * (sharers[i].read + sharers[i].write) * speed(sharers[i], given);
      }
      return sum;
    };
    if (moved(1) <= most) {
      return 1;
    }
    double low = 1e-3, high = 1;
    for (int i = 0; i < 20; ++i) {
      const double middle = (low + high) / 2;
      (moved(middle) < most ? low : high) = middle;
    }
    return low;
  }
  static int64_t grid(double ns) { return 2000 * static_cast<int64_t>(ns / 2000); }

  void emit(std::vector<State>& states, const std::vector<PlantedSharer>& sharers, const PlantedWorld& world,
            int64_t end, double read, double write, double instructions) {
    Sample sample;
    sample.start_ns = end - world.sample_ns;
    sample.end_ns = end;
    sample.cycles_elapsed = static_cast<double>(world.sample_ns);
    sample.dram_read_bytes = read;
    sample.dram_write_bytes = write;
    sample.instructions = instructions;
    SampleResidency resident;
    resident.resolved = true;
    resident.whole = true;
    std::vector<ShapeId> set;
    size_t kernels = 0;
    const auto steps = static_cast<size_t>(world.sample_ns / 2000);
    double all = 0;
    for (size_t i = 0; i < states.size(); ++i) {
      State& state = states[i];
      all += state.warps;
      if (state.steps > 0) {
        set.push_back(state.shape);
        resident.whole = resident.whole && state.steps == steps;
        double seen = std::max(0.0, state.warps + world.warp_noise * normal());
        if (world.flags) {
          seen = sharers[i].warps * static_cast<double>(state.steps) / static_cast<double>(steps);
        }
        residency.kernels.push_back({state.shape, seen, 0, 8448});
        ++kernels;
      }
    }
    truth.emplace_back();
    for (const State& state : states) {
      truth.back().bytes.push_back(state.read + state.write);
      truth.back().instructions.push_back(state.instructions);
    }
    for (State& state : states) {
      state.warps = state.read = state.write = state.instructions = 0;
      state.steps = 0;
    }
    sample.warp_cycles = all * static_cast<double>(world.sample_ns);
    device.capture.samples.push_back(sample);
    if (set.empty()) {
      return;
    }
    auto known = std::ranges::find(residency.sets, set, &SiblingSet::shapes);
    if (known == residency.sets.end()) {
      residency.sets.push_back({set, set.size(), 2, 0, true, "planted"});
      known = residency.sets.end() - 1;
    }
    known->time_ns += static_cast<double>(world.sample_ns);
    resident.own.resolved = true;
    kernels_of_.push_back(kernels);
    resident.set = static_cast<size_t>(known - residency.sets.begin());
    sample_of_.push_back(device.capture.samples.size() - 1);
    residency.samples.push_back(std::move(resident));
  }

  std::mt19937_64 random_;
  std::vector<size_t> sample_of_, kernels_of_;
};

}  // namespace kvet::questions
