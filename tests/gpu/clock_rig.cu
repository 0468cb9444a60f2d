// SPDX-License-Identifier: Apache-2.0
// Executions whose edges are known by globaltimer, for as long as wanted. Uses nothing of kvet.
//   clock_rig idle|busy --out FOLDER [--seconds N] [--seed N]       writes FOLDER/clock.json, FOLDER/clock.bin
// idle: one kernel at a time, idle time between. busy: two lanes run without a pause, so that the device never falls idle, and
// two more come and go above them. Every execution logs its first and mean entry, its mean and last exit.
#include <string.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>

#include "truth_clock.h"
#include "truth_log.h"

struct Edges {  // as the device adds them up; times since `origin`
  unsigned long long first_entry, last_exit, entries, exits, warps;
};
struct Lane {
  const char* name;
  const void* function;
  int blocks, threads;
  uint64_t shortest_ns, longest_ns;
  uint64_t gap_ns;  // longest; 0: launched ahead, back to back
};

__device__ inline void spin(uint64_t nanoseconds, WarpLog* log) {
  const uint64_t entry = globaltimer();
  while (globaltimer() - entry < nanoseconds) {
  }
  if (threadIdx.x % 32 == 0) {
    const uint64_t exit = globaltimer();
    log[blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32] = {entry, uint32_t(exit - entry), 0};
  }
}
#define CLOCK_KERNEL(name) \
  extern "C" __global__ void name(uint64_t nanoseconds, WarpLog* log) { spin(nanoseconds, log); }
CLOCK_KERNEL(clock_step_a)
CLOCK_KERNEL(clock_step_b)
CLOCK_KERNEL(clock_floor_a)
CLOCK_KERNEL(clock_floor_b)

// Added up only after the work: thousands of atomics at the same moment would smear the very edges that they count.
__global__ void add_up(const WarpLog* const* logs, unsigned warps, uint64_t origin, Edges* edges) {
  const WarpLog* log = logs[blockIdx.x];
  Edges* sum = edges + blockIdx.x;
  for (unsigned i = threadIdx.x; i < warps; i += blockDim.x) {
    if (log[i].entry == 0)
      continue;
    const uint64_t entry = log[i].entry - origin, exit = entry + log[i].span;
    atomicMin(&sum->first_entry, entry);
    atomicMax(&sum->last_exit, exit);
    atomicAdd(&sum->entries, entry);
    atomicAdd(&sum->exits, exit);
    atomicAdd(&sum->warps, 1);
  }
}

std::vector<Edges> edges_of(const std::vector<WarpLog*>& logs, const Lane& lane, uint64_t origin) {
  std::vector<Edges> result(logs.size(), Edges{~0ull, 0, 0, 0, 0});
  if (logs.empty())
    return result;
  WarpLog** places;
  Edges* edges;
  RIG_RUN(cudaMalloc(&places, logs.size() * sizeof *places));
  RIG_RUN(cudaMalloc(&edges, logs.size() * sizeof *edges));
  RIG_RUN(cudaMemcpy(places, logs.data(), logs.size() * sizeof *places, cudaMemcpyHostToDevice));
  RIG_RUN(cudaMemcpy(edges, result.data(), logs.size() * sizeof *edges, cudaMemcpyHostToDevice));
  add_up<<<logs.size(), 256>>>(places, lane.blocks * lane.threads / 32, origin, edges);
  RIG_RUN(cudaGetLastError());
  RIG_RUN(cudaMemcpy(result.data(), edges, logs.size() * sizeof *edges, cudaMemcpyDeviceToHost));
  return result;
}

int main(int count, char** values) {
  const std::string mode = count > 1 ? values[1] : "";
  std::string out;
  int seconds = 60;
  uint64_t seed = 1;
  for (int i = 2; i + 1 < count; i += 2) {
    const std::string option = values[i];
    if (option == "--out")
      out = values[i + 1];
    if (option == "--seconds")
      seconds = std::atoi(values[i + 1]);
    if (option == "--seed")
      seed = std::strtoull(values[i + 1], nullptr, 10);
  }
  std::vector<Lane> lanes;
#define CLOCK_FUNCTION(name) #name, reinterpret_cast<const void*>(name)
  if (mode == "idle") {
    lanes = {{CLOCK_FUNCTION(clock_step_a), 264, 256, 200'000, 2'000'000, 3'000'000}};
  } else if (mode == "busy") {
    lanes = {{CLOCK_FUNCTION(clock_floor_a), 132, 128, 1'500'000, 4'500'000, 0},
             {CLOCK_FUNCTION(clock_floor_b), 132, 96, 1'500'000, 4'500'000, 0},
             {CLOCK_FUNCTION(clock_step_a), 264, 256, 400'000, 2'000'000, 1'500'000},
             {CLOCK_FUNCTION(clock_step_b), 132, 384, 400'000, 2'000'000, 1'500'000}};
  }
  if (lanes.empty() || out.empty()) {
    std::fprintf(stderr, "usage: clock_rig idle|busy --out FOLDER [--seconds N] [--seed N]\n");
    return 64;
  }
  RIG_RUN(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  TruthLog log(uint64_t(seconds + 10) << 27);  // 128 MB per second: about 2,000 executions of 2,112 warps each
  std::vector<std::vector<WarpLog*>> logs(lanes.size());
  TruthClock clock;
  clock.session();
  const uint64_t origin = clock.pairs().back().globaltimer_ns;
  const uint64_t begin = monotonic_ns(), until = begin + seconds * 1'000'000'000ull;

  std::vector<std::thread> threads;
  for (size_t number = 0; number < lanes.size(); ++number) {
    threads.emplace_back([&, number] {
      const Lane& lane = lanes[number];
      std::mt19937_64 random(seed * 131 + number);
      cudaStream_t stream;
      RIG_RUN(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      cudaEvent_t events[2];
      for (cudaEvent_t& event : events)
        RIG_RUN(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
      uint64_t asked_at = monotonic_ns();
      for (size_t i = 0; monotonic_ns() < until; ++i) {
        uint64_t length = lane.shortest_ns + random() % (lane.longest_ns - lane.shortest_ns);
        WarpLog* slots = log.reserve(uint64_t(lane.blocks) * lane.threads / 32);
        logs[number].push_back(slots);
        if (lane.gap_ns != 0) {
          wait_until(monotonic_ns() + 50'000 + random() % lane.gap_ns);
        } else if (i >= 2) {
          RIG_RUN(cudaEventSynchronize(events[i % 2]));  // at most two ahead
        }
        void* arguments[] = {&length, &slots};
        RIG_RUN(cudaLaunchKernel(lane.function, lane.blocks, lane.threads, arguments, 0, stream));
        if (lane.gap_ns != 0) {
          RIG_RUN(cudaStreamSynchronize(stream));
        } else {
          RIG_RUN(cudaEventRecord(events[i % 2], stream));
        }
        // The clocks are compared about once per second, by the first lane where the device is idle then.
        if (mode == "idle" && monotonic_ns() - asked_at > 1'000'000'000) {
          wait_until(monotonic_ns() + 500'000);
          clock.session(100);
          wait_until(monotonic_ns() + 500'000);
          asked_at = monotonic_ns();
        }
      }
      RIG_RUN(cudaStreamSynchronize(stream));
    });
  }
  if (mode == "busy") {
    while (monotonic_ns() + 1'200'000'000 < until) {
      usleep(1'000'000);
      clock.session(100);
    }
  }
  for (std::thread& thread : threads)
    thread.join();
  RIG_RUN(cudaDeviceSynchronize());
  clock.session();

  FILE* json = std::fopen((out + "/clock.json").c_str(), "w");
  FILE* bin = std::fopen((out + "/clock.bin").c_str(), "wb");
  if (json == nullptr || bin == nullptr) {
    std::fprintf(stderr, "clock_rig: %s cannot be written\n", out.c_str());
    return 65;
  }
  int64_t widest = 0;
  for (const ClockPair& pair : clock.pairs())
    widest = std::max(widest, pair.width_ns);
  std::printf("clock %s: globaltimer step %lu ns, %zu clock pairs, widest bracket %ld ns\n", mode.c_str(),
              clock.granularity_ns(), clock.pairs().size(), widest);
  std::fprintf(json,
               "{\"mode\": \"%s\", \"origin_globaltimer_ns\": %lu, \"granularity_ns\": %lu, \"from_ns\": %lu, "
               "\"to_ns\": %lu,\n\"clock_pairs\": [",
               mode.c_str(), origin, clock.granularity_ns(), begin, monotonic_ns());
  for (size_t i = 0; i < clock.pairs().size(); ++i) {
    const ClockPair& pair = clock.pairs()[i];
    std::fprintf(json, "%s[%lu, %lu, %ld]", i == 0 ? "" : ", ", pair.monotonic_ns, pair.globaltimer_ns, pair.width_ns);
  }
  std::fprintf(json, "],\n\"lanes\": [");
  for (size_t i = 0; i < lanes.size(); ++i) {
    const std::vector<Edges> edges = edges_of(logs[i], lanes[i], origin);
    std::fwrite(edges.data(), sizeof(Edges), edges.size(), bin);
    std::fprintf(json, "%s{\"name\": \"%s\", \"executions\": %zu, \"warps\": %d}", i == 0 ? "" : ", ", lanes[i].name,
                 edges.size(), lanes[i].blocks * lanes[i].threads / 32);
  }
  std::fprintf(json, "]}\n");
  std::fclose(json);
  std::fclose(bin);
  return 0;
}
