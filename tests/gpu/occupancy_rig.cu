// SPDX-License-Identifier: Apache-2.0
// Kernels of known residency, side by side, with the truth written beside. Uses nothing of kvet.
//   occupancy_rig CASE --out FOLDER [--rounds N] [--seed N] [--solo-ms N] [--mixed-ms N] [--log-gib N]
// Every round: each kernel alone for a while, then all in streams of their own with random gaps, so that the sets of siblings
// vary. Writes FOLDER/truth.json and FOLDER/truth.bin (truth.py reads them), and prints the clock's granularity.
#include <string.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>

#include "rig_cases.h"
#include "truth_clock.h"

namespace {

struct Options {
  std::string which, out;
  int rounds = 4, solo_ms = 60, mixed_ms = 900, log_gib = 24;
  uint64_t seed = 1;
};

struct Phase {
  std::string name;
  uint64_t from_ns, to_ns;  // CLOCK_MONOTONIC
};
struct Round {
  uint64_t first_slot, last_slot, from_ns, to_ns;
  std::vector<Phase> phases;
  std::vector<uint64_t> launches;  // per kernel
};

class Runner {
 public:
  Runner(const Case& which, const Options& options)
      : case_(which), options_(options), log_(uint64_t(options.log_gib) << 30) {
    RIG_RUN(cudaMalloc(&zeroes_, 4096));
    RIG_RUN(cudaMemset(const_cast<unsigned*>(zeroes_), 0, 4096));
    for (const RigKernel& kernel : case_.kernels) {
      RIG_RUN(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes));
      RIG_RUN(cudaFuncSetAttribute(kernel.function, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   kernel.carveout_percent));
      cudaStream_t stream;
      RIG_RUN(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      streams_.push_back(stream);
    }
    launched_.resize(case_.kernels.size());
  }

  // One launch, or a dependent pair; returns when it has ended.
  void once(size_t lane, std::mt19937_64& random) {
    const RigKernel& kernel = case_.kernels[lane];
    launch(lane, lane, random(), false);
    if (kernel.followed_by >= 0)
      launch(kernel.followed_by, lane, random(), true);
    RIG_RUN(cudaStreamSynchronize(streams_[lane]));
  }

  // The lane's kernel again and again until `until_ns`, with gaps of 0 to `gap_us`.
  void loop(size_t lane, uint64_t until_ns, int gap_us, uint64_t seed) {
    std::mt19937_64 random(seed);
    while (monotonic_ns() < until_ns) {
      if (gap_us > 0)
        wait_until(monotonic_ns() + random() % (uint64_t(gap_us) * 1000));
      once(lane, random);
    }
  }

  Round round(int number) {
    Round round{log_.used(), 0, monotonic_ns(), 0, {}, {}};
    launched_.assign(launched_.size(), 0);
    const uint64_t seed = options_.seed * 1000003 + number;
    auto phase = [&](const std::string& name, auto work) {
      const uint64_t from = monotonic_ns();
      work();
      RIG_RUN(cudaDeviceSynchronize());
      round.phases.push_back({name, from, monotonic_ns()});
      usleep(3000);
      clock_.session();
      usleep(3000);
    };
    clock_.session();
    usleep(3000);
    for (size_t lane : lanes()) {
      phase(case_.kernels[lane].name,
            [&] { loop(lane, monotonic_ns() + options_.solo_ms * 1000000ull, 200, seed * 31 + lane); });
    }
    if (lanes().size() > 1) {
      phase("mixed", [&] {
        const uint64_t until = monotonic_ns() + options_.mixed_ms * 1000000ull;
        std::vector<std::thread> threads;
        for (size_t lane : lanes()) {
          threads.emplace_back([&, lane] { loop(lane, until, case_.gap_us, seed * 37 + lane); });
        }
        for (std::thread& thread : threads)
          thread.join();
      });
    }
    round.last_slot = log_.used();
    round.to_ns = monotonic_ns();
    round.launches = launched_;
    return round;
  }

  void write(const std::vector<Round>& rounds);

  // Edges for the recorder's alignment, and time for the clock to rise. Not part of any round.
  void warm_up() {
    std::mt19937_64 random(options_.seed);
    for (size_t lane : lanes())
      once(lane, random);  // loads the code
    for (int i = 0; i < 300; ++i) {
      rig_pulse<<<264, 256>>>(200'000 + random() % 800'000);
      RIG_RUN(cudaDeviceSynchronize());
      wait_until(monotonic_ns() + 300'000 + random() % 700'000);
    }
  }

 private:
  std::vector<size_t> lanes() const {
    std::vector<size_t> result;
    for (size_t i = 0; i < case_.kernels.size(); ++i) {
      if (!case_.kernels[i].dependent)
        result.push_back(i);
    }
    return result;
  }

  // A dependent kernel runs in the stream of the one that it follows.
  size_t lane_of(size_t number) const {
    for (size_t i = 0; i < case_.kernels.size(); ++i) {
      if (case_.kernels[i].followed_by == int(number))
        return i;
    }
    return number;
  }

  void launch(size_t number, size_t lane, uint64_t seed, bool dependent) {
    const RigKernel& kernel = case_.kernels[number];
    Task task{log_.reserve(uint64_t(kernel.grid) * (kernel.threads / 32)),
              zeroes_,
              seed,
              uint32_t(number),
              kernel.shortest_ns,
              kernel.longest_ns,
              kernel.power,
              kernel.early_warps,
              kernel.early_share};
    cudaLaunchConfig_t configuration = {};
    configuration.gridDim = kernel.grid;
    configuration.blockDim = kernel.threads;
    configuration.dynamicSmemBytes = kernel.shared_bytes;
    configuration.stream = streams_[lane];
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    configuration.attrs = &attribute;
    configuration.numAttrs = dependent ? 1 : 0;
    void* arguments[] = {&task};
    RIG_RUN(cudaLaunchKernelExC(&configuration, kernel.function, arguments));
    ++launched_[number];
  }

  const Case& case_;
  const Options& options_;
  TruthLog log_;
  TruthClock clock_;
  volatile unsigned* zeroes_ = nullptr;
  std::vector<cudaStream_t> streams_;
  std::vector<uint64_t> launched_;  // each kernel is launched by one thread only
};

void Runner::write(const std::vector<Round>& rounds) {
  FILE* json = std::fopen((options_.out + "/truth.json").c_str(), "w");
  FILE* bins = std::fopen((options_.out + "/truth.bin").c_str(), "wb");
  if (json == nullptr || bins == nullptr) {
    std::fprintf(stderr, "rig: %s cannot be written\n", options_.out.c_str());
    std::exit(65);
  }
  const auto& pairs = clock_.pairs();
  int64_t widest = 0;
  for (const ClockPair& pair : pairs)
    widest = std::max(widest, pair.width_ns);
  std::printf(
      "%s: globaltimer counts in steps of %lu ns; %zu clock pairs, widest bracket %ld ns, narrowest single one %ld "
      "ns\n",
      case_.name.c_str(), clock_.granularity_ns(), pairs.size(), widest, pairs.front().narrowest_ns);
  std::fprintf(json, "{\"case\": \"%s\", \"seed\": %lu, \"bin_ns\": %lu, \"granularity_ns\": %lu,\n\"kernels\": [",
               case_.name.c_str(), options_.seed, bin_ns, clock_.granularity_ns());
  for (size_t i = 0; i < case_.kernels.size(); ++i) {
    const RigKernel& kernel = case_.kernels[i];
    cudaFuncAttributes attributes;
    RIG_RUN(cudaFuncGetAttributes(&attributes, kernel.function));
    std::fprintf(json,
                 "%s\n {\"name\": \"%s\", \"grid\": %u, \"threads\": %u, \"registers\": %d, \"shared_bytes\": %u, "
                 "\"early_warps\": %u, \"lane\": %zu}",
                 i == 0 ? "" : ",", kernel.name.c_str(), kernel.grid, kernel.threads, attributes.numRegs,
                 kernel.shared_bytes, kernel.early_warps, lane_of(i));
  }
  std::fprintf(json, "],\n\"clock_pairs\": [");
  for (size_t i = 0; i < pairs.size(); ++i) {
    std::fprintf(json, "%s\n [%lu, %lu, %ld]", i == 0 ? "" : ",", pairs[i].monotonic_ns, pairs[i].globaltimer_ns,
                 pairs[i].width_ns);
  }
  std::fprintf(json, "],\n\"rounds\": [");
  for (size_t i = 0; i < rounds.size(); ++i) {
    const Round& round = rounds[i];
    // The pairs' offset at the start is good to a few µs over the whole run: the margin is a millisecond.
    const uint64_t origin = round.from_ns + (pairs[0].globaltimer_ns - pairs[0].monotonic_ns) - 1'000'000;
    const uint64_t count = (round.to_ns - round.from_ns + 3'000'000) / bin_ns;
    const uint64_t missing = log_.write(bins, round.first_slot, round.last_slot, origin, count, case_.kernels.size());
    std::fprintf(json,
                 "%s\n {\"from_ns\": %lu, \"to_ns\": %lu, \"origin_globaltimer_ns\": %lu, \"bins\": %lu, "
                 "\"missing\": %lu, \"warps\": %lu, \"launches\": [",
                 i == 0 ? "" : ",", round.from_ns, round.to_ns, origin, count, missing,
                 round.last_slot - round.first_slot);
    for (size_t k = 0; k < round.launches.size(); ++k)
      std::fprintf(json, "%s%lu", k == 0 ? "" : ", ", round.launches[k]);
    std::fprintf(json, "], \"phases\": [");
    for (size_t p = 0; p < round.phases.size(); ++p) {
      std::fprintf(json, "%s[\"%s\", %lu, %lu]", p == 0 ? "" : ", ", round.phases[p].name.c_str(),
                   round.phases[p].from_ns, round.phases[p].to_ns);
    }
    std::fprintf(json, "]}");
  }
  std::fprintf(json, "]}\n");
  std::fclose(json);
  std::fclose(bins);
}

bool number(const char* name, const char* given, const char* value, int& into) {
  if (std::string(name) != given)
    return false;
  into = std::atoi(value);
  return true;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  if (count >= 2)
    options.which = values[1];
  int seed = 1;
  for (int i = 2; i + 1 < count; i += 2) {
    if (std::string(values[i]) == "--out") {
      options.out = values[i + 1];
    } else if (!number("--rounds", values[i], values[i + 1], options.rounds) &&
               !number("--seed", values[i], values[i + 1], seed) &&
               !number("--solo-ms", values[i], values[i + 1], options.solo_ms) &&
               !number("--mixed-ms", values[i], values[i + 1], options.mixed_ms) &&
               !number("--log-gib", values[i], values[i + 1], options.log_gib)) {
      std::fprintf(stderr, "occupancy_rig: unknown option %s\n", values[i]);
      return 64;
    }
  }
  options.seed = uint64_t(seed);
  const std::vector<Case> cases = all_cases();
  const auto found = std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.name == options.which; });
  if (found == cases.end() || options.out.empty()) {
    std::fprintf(stderr,
                 "usage: occupancy_rig CASE --out FOLDER [--rounds N] [--seed N] [--solo-ms N] [--mixed-ms N] "
                 "[--log-gib N]\ncases:");
    for (const Case& c : cases)
      std::fprintf(stderr, " %s", c.name.c_str());
    std::fprintf(stderr, "\n");
    return 64;
  }
  RIG_RUN(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  Runner runner(*found, options);
  runner.warm_up();
  std::vector<Round> rounds;
  for (int i = 0; i < options.rounds; ++i)
    rounds.push_back(runner.round(i));
  runner.write(rounds);
  return 0;
}
