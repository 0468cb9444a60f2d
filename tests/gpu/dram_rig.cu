// SPDX-License-Identifier: Apache-2.0
// Kernels that move known bytes, with the truth written beside. Uses nothing of kvet.
//   dram_rig --out FOLDER [--seed N] [--ms N]        writes FOLDER/dram.json and FOLDER/dram.bin (score_dram.py reads them)
// Phases: a copy of more than 100 × L2 alone; a copy beside a second copy of another resource vector and a compute kernel, in
// streams of their own with random gaps; a working set of 20 MB read again and again; a copy that saturates; a read held to
// 80% of what reads can reach here (measured first).
#include <string.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>

#include "dram_kernels.h"
#include "truth_clock.h"

namespace {

struct Use {  // of a kernel in a phase
  std::string name;
  uint64_t launches, read_bytes, write_bytes;  // per launch
};
struct Phase {
  std::string name;
  uint64_t from_ns, to_ns;
  std::vector<Use> uses;
};

struct Rig {
  int ms = 400, multiprocessors = 0;
  uint64_t seed = 1, l2_bytes = 0, buffer_bytes = 0;
  uint4 *from = nullptr, *to = nullptr, *other_from = nullptr, *other_to = nullptr;
  float* never = nullptr;
  TruthClock clock;
  std::vector<Phase> phases;

  template <class Work>
  void phase(const char* name, Work work) {
    usleep(20000);
    clock.session();
    usleep(5000);
    Phase phase{name, monotonic_ns(), 0, {}};
    phase.uses = work();
    RIG_RUN(cudaDeviceSynchronize());
    phase.to_ns = monotonic_ns();
    phases.push_back(phase);
    usleep(5000);
    clock.session();
  }

  Move all(uint64_t bytes) const {
    return {from, to, bytes / chunk_bytes, 0, buffer_bytes / chunk_bytes, nullptr, 0, 0, 0};
  }

  // Launches again and again for `ms`, each alone, with short gaps.
  template <class Launch>
  uint64_t alone(Launch launch) {
    std::mt19937_64 random(seed);
    uint64_t launches = 0;
    for (const uint64_t until = monotonic_ns() + ms * 1000000ull; monotonic_ns() < until; ++launches) {
      launch();
      RIG_RUN(cudaDeviceSynchronize());
      wait_until(monotonic_ns() + 200'000 + random() % 200'000);
    }
    return launches;
  }
};

struct Beside {  // the phase "beside": bytes over time
  uint64_t origin = 0, bins = 0;
  std::vector<std::vector<unsigned long long>> bytes;
};

Beside run_beside(Rig& rig) {
  Beside result;
  const uint64_t length_ms = 3ull * rig.ms;
  result.bins = (length_ms + 100) * 1'000'000 / bin_ns;
  unsigned long long* bins;
  RIG_RUN(cudaMalloc(&bins, 2 * result.bins * sizeof *bins));
  RIG_RUN(cudaMemset(bins, 0, 2 * result.bins * sizeof *bins));
  RIG_RUN(cudaFuncSetAttribute(dram_other, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
  // An SM serves one carve-out at a time: kernels of different ones would not meet on it.
  for (const void* kernel : {reinterpret_cast<const void*>(dram_copy), reinterpret_cast<const void*>(dram_other),
                             reinterpret_cast<const void*>(dram_compute)}) {
    RIG_RUN(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
  }
  const uint64_t bytes[2] = {1ull << 30, 768ull << 20};
  rig.phase("beside", [&] {
    const ClockPair pair = rig.clock.pairs().back();
    result.origin = monotonic_ns() + (pair.globaltimer_ns - pair.monotonic_ns) - 10'000'000;
    const uint64_t until = monotonic_ns() + length_ms * 1'000'000;
    uint64_t launches[3] = {};
    std::vector<std::thread> threads;
    for (int lane = 0; lane < 3; ++lane) {
      threads.emplace_back([&, lane] {
        std::mt19937_64 random(rig.seed * 17 + lane);
        cudaStream_t stream;
        RIG_RUN(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        uint64_t first = 0;
        while (monotonic_ns() < until) {
          wait_until(monotonic_ns() + random() % 800'000);
          // One block on each SM at most, so that all three fit beside each other; grids are no multiples of the SM count.
          if (lane == 2) {
            dram_compute<<<509, 128, 2 << 10, stream>>>(300'000 + random() % 1'200'000, rig.never);
          } else {
            Move move{lane == 0 ? rig.from : rig.other_from,
                      lane == 0 ? rig.to : rig.other_to,
                      bytes[lane] / chunk_bytes,
                      first,
                      rig.buffer_bytes / chunk_bytes,
                      bins + lane * result.bins,
                      result.origin,
                      result.bins,
                      0};
            // Never what the L2 still holds: every launch goes on where the last one ended.
            first = (first + move.chunks) % move.wrap;
            if (lane == 0)
              dram_copy<<<131, 256, 8 << 10, stream>>>(move);
            else
              dram_other<<<119, 512, 40 << 10, stream>>>(move);
          }
          RIG_RUN(cudaGetLastError());
          RIG_RUN(cudaStreamSynchronize(stream));
          ++launches[lane];
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    return std::vector<Use>{{"dram_copy", launches[0], bytes[0], bytes[0]},
                            {"dram_other", launches[1], bytes[1], bytes[1]},
                            {"dram_compute", launches[2], 0, 0}};
  });
  for (int lane = 0; lane < 2; ++lane) {
    result.bytes.emplace_back(result.bins);
    RIG_RUN(cudaMemcpy(result.bytes.back().data(), bins + lane * result.bins, result.bins * sizeof *bins,
                       cudaMemcpyDeviceToHost));
  }
  return result;
}

// Bytes per second of one launch, by the host's clock around it: long enough that the launch itself is nothing.
template <class Launch>
double rate(uint64_t bytes, Launch launch) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    RIG_RUN(cudaDeviceSynchronize());
    cudaEvent_t begin, end;
    RIG_RUN(cudaEventCreate(&begin));
    RIG_RUN(cudaEventCreate(&end));
    RIG_RUN(cudaEventRecord(begin));
    launch();
    RIG_RUN(cudaEventRecord(end));
    RIG_RUN(cudaEventSynchronize(end));
    float milliseconds = 0;
    RIG_RUN(cudaEventElapsedTime(&milliseconds, begin, end));
    best = std::max(best, bytes / (milliseconds * 1e-3));
    RIG_RUN(cudaEventDestroy(begin));
    RIG_RUN(cudaEventDestroy(end));
  }
  return best;
}

void write(const Rig& rig, const Beside& beside, const std::string& out, double reachable_read, double held_read,
           double reachable_copy) {
  FILE* json = std::fopen((out + "/dram.json").c_str(), "w");
  FILE* bins = std::fopen((out + "/dram.bin").c_str(), "wb");
  if (json == nullptr || bins == nullptr) {
    std::fprintf(stderr, "rig: %s cannot be written\n", out.c_str());
    std::exit(65);
  }
  for (const auto& kernel : beside.bytes)
    std::fwrite(kernel.data(), 8, kernel.size(), bins);
  std::fclose(bins);
  std::printf(
      "dram: L2 %.0f MB, reads reach %.0f GB/s, copies %.0f GB/s, the held read has %.1f%% of it; globaltimer step %lu "
      "ns\n",
      rig.l2_bytes / 1e6, reachable_read / 1e9, reachable_copy / 1e9, 100 * held_read / reachable_read,
      rig.clock.granularity_ns());
  std::fprintf(
      json,
      "{\"l2_bytes\": %lu, \"buffer_bytes\": %lu, \"reachable_read\": %.0f, \"held_read\": %.0f, "
      "\"reachable_copy\": %.0f, \"bin_ns\": %lu, \"bins\": %lu, \"origin_globaltimer_ns\": %lu,\n\"clock_pairs\": [",
      rig.l2_bytes, rig.buffer_bytes, reachable_read, held_read, reachable_copy, bin_ns, beside.bins, beside.origin);
  const auto& pairs = rig.clock.pairs();
  for (size_t i = 0; i < pairs.size(); ++i) {
    std::fprintf(json, "%s[%lu, %lu, %ld]", i == 0 ? "" : ", ", pairs[i].monotonic_ns, pairs[i].globaltimer_ns,
                 pairs[i].width_ns);
  }
  std::fprintf(json, "],\n\"phases\": [");
  for (size_t i = 0; i < rig.phases.size(); ++i) {
    const Phase& phase = rig.phases[i];
    std::fprintf(json, "%s\n {\"name\": \"%s\", \"from_ns\": %lu, \"to_ns\": %lu, \"kernels\": [", i == 0 ? "" : ",",
                 phase.name.c_str(), phase.from_ns, phase.to_ns);
    for (size_t k = 0; k < phase.uses.size(); ++k) {
      const Use& use = phase.uses[k];
      std::fprintf(json, "%s{\"name\": \"%s\", \"launches\": %lu, \"read_bytes\": %lu, \"write_bytes\": %lu}",
                   k == 0 ? "" : ", ", use.name.c_str(), use.launches, use.read_bytes, use.write_bytes);
    }
    std::fprintf(json, "]}");
  }
  std::fprintf(json, "]}\n");
  std::fclose(json);
}

}  // namespace

int main(int count, char** values) {
  std::string out;
  RIG_RUN(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  Rig rig;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string option = values[i];
    if (option == "--out")
      out = values[i + 1];
    if (option == "--seed")
      rig.seed = std::strtoull(values[i + 1], nullptr, 10);
    if (option == "--ms")
      rig.ms = std::atoi(values[i + 1]);
  }
  if (out.empty()) {
    std::fprintf(stderr, "usage: dram_rig --out FOLDER [--seed N] [--ms N]\n");
    return 64;
  }
  cudaDeviceProp device;
  RIG_RUN(cudaGetDeviceProperties(&device, 0));
  rig.multiprocessors = device.multiProcessorCount;
  rig.l2_bytes = device.l2CacheSize;
  rig.buffer_bytes = (101 * rig.l2_bytes / (64 << 20) + 1) * (64 << 20);
  for (uint4** buffer : {&rig.from, &rig.to, &rig.other_from, &rig.other_to}) {
    RIG_RUN(cudaMalloc(buffer, rig.buffer_bytes));
    RIG_RUN(cudaMemset(*buffer, 1, rig.buffer_bytes));
  }
  RIG_RUN(cudaMalloc(&rig.never, 4));
  std::mt19937_64 random(rig.seed);
  for (int i = 0; i < 300; ++i) {
    rig_pulse<<<264, 256>>>(200'000 + random() % 800'000);
    RIG_RUN(cudaDeviceSynchronize());
    wait_until(monotonic_ns() + 300'000 + random() % 700'000);
  }
  const int sms = rig.multiprocessors;
  const uint64_t whole = rig.buffer_bytes;

  rig.phase("copy", [&] {
    const uint64_t launches = rig.alone([&] { dram_copy<<<sms * 4 + 1, 256>>>(rig.all(whole)); });
    return std::vector<Use>{{"dram_copy", launches, whole, whole}};
  });
  const Beside beside = run_beside(rig);
  constexpr uint64_t small = 20'000'000 / chunk_bytes * chunk_bytes, times = 400;
  rig.phase("loop", [&] {
    Move move = rig.all(small * times);
    move.wrap = small / chunk_bytes;
    const uint64_t launches = rig.alone([&] { dram_loop<<<sms * 4, 256>>>(move); });
    return std::vector<Use>{{"dram_loop", launches, small * times, 0}};
  });
  double reachable_copy = 0;
  // From here on one block of 32 warps on each SM: registers allow no second one, so all of a grid is resident at once, and
  // the pace of the held read is that of every warp.
  rig.phase("saturate", [&] {
    reachable_copy = rate(2 * whole, [&] { dram_saturate<<<sms, 1024>>>(rig.all(whole)); });
    const uint64_t launches = rig.alone([&] { dram_saturate<<<sms, 1024>>>(rig.all(whole)); });
    return std::vector<Use>{{"dram_saturate", launches + 5, whole, whole}};
  });
  double reachable = 0, held = 0;
  rig.phase("read", [&] {
    reachable = rate(whole, [&] { dram_read<<<sms, 1024>>>(rig.all(whole)); });
    const uint64_t launches = rig.alone([&] { dram_read<<<sms, 1024>>>(rig.all(whole)); });
    return std::vector<Use>{{"dram_read", launches + 5, whole, 0}};
  });
  rig.phase("read80", [&] {
    Move move = rig.all(whole);
    move.pace_ns = uint64_t(double(sms) * 32 * chunk_bytes / (0.8 * reachable) * 1e9);
    held = rate(whole, [&] { dram_read80<<<sms, 1024>>>(move); });
    const uint64_t launches = rig.alone([&] { dram_read80<<<sms, 1024>>>(move); });
    return std::vector<Use>{{"dram_read80", launches + 5, whole, 0}};
  });
  write(rig, beside, out, reachable, held, reachable_copy);
  return 0;
}
