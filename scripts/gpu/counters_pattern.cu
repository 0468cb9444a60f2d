// SPDX-License-Identifier: Apache-2.0
// A known pattern of work for counters-check: what the counters must read is written beside what ran.
//   counters_pattern FOLDER     writes FOLDER/executions.csv and FOLDER/phases.csv, times on CLOCK_MONOTONIC
// Phases: every SM full (64 warps on an H200), three small blocks per SM, a copy of known bytes, kernels of random length
// with random pauses (for alignment), and very short kernels back to back.
#include <cupti.h>
#include <cuda_runtime.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#define RUN(call)                                                                                       \
  do {                                                                                                  \
    if (cudaError_t error = (call); error != cudaSuccess) {                                             \
      std::fprintf(stderr, "counters_pattern: %s: %s\n", #call, cudaGetErrorString(error));             \
      std::exit(70);                                                                                    \
    }                                                                                                   \
  } while (0)
#define TRACE(call)                                                                                     \
  do {                                                                                                  \
    if (CUptiResult error = (call); error != CUPTI_SUCCESS) {                                           \
      std::fprintf(stderr, "counters_pattern: %s: CUPTI error %d\n", #call, static_cast<int>(error));   \
      std::exit(70);                                                                                    \
    }                                                                                                   \
  } while (0)

static uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

// ---- Executions, by CUPTI activity on CLOCK_MONOTONIC ---------------------------------------------------------------

struct Execution {
  uint64_t start_ns, end_ns;
  uint64_t blocks, threads, registers, shared_bytes, device;
};
static std::vector<Execution> executions;

static void CUPTIAPI buffer_requested(uint8_t** buffer, size_t* size, size_t* records) {
  *size = 4 << 20;
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, *size));
  *records = 0;
}
static void CUPTIAPI buffer_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    // Fields of later versions are appended: this one has all that is needed, in every CUPTI since 11.
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    executions.push_back({kernel->start, kernel->end,
                          uint64_t(kernel->gridX) * kernel->gridY * kernel->gridZ,
                          uint64_t(kernel->blockX) * kernel->blockY * kernel->blockZ, kernel->registersPerThread,
                          uint64_t(kernel->staticSharedMemory) + kernel->dynamicSharedMemory, kernel->deviceId});
  }
  free(buffer);
}

// ---- Work -----------------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(256) spin(uint64_t nanoseconds) {
  uint64_t begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}
__global__ void copy(const uint4* from, uint4* to, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    to[i] = from[i];
  }
}

static FILE* phases;
struct Phase {
  std::string name;
  uint64_t begin = 0, read_bytes = 0, write_bytes = 0;
  double warps = 0;  // resident on the whole device while the phase's kernel runs; 0: varies
  explicit Phase(const char* text) : name(text) {
    RUN(cudaDeviceSynchronize());
    usleep(30000);
    begin = monotonic_ns();
  }
  ~Phase() {
    RUN(cudaDeviceSynchronize());
    const uint64_t end = monotonic_ns();
    std::fprintf(phases, "%s,%lu,%lu,%lu,%lu,%.0f\n", name.c_str(), begin, end, read_bytes, write_bytes, warps);
    usleep(30000);
  }
};

int main(int count, char** values) {
  if (count != 2) {
    std::fprintf(stderr, "usage: counters_pattern FOLDER\n");
    return 64;
  }
  const std::string folder = values[1];
  phases = std::fopen((folder + "/phases.csv").c_str(), "w");
  if (phases == nullptr) {
    std::fprintf(stderr, "counters_pattern: %s/phases.csv cannot be written\n", folder.c_str());
    return 65;
  }
  std::fprintf(phases, "phase,start_ns,end_ns,read_bytes,write_bytes,warps\n");

  TRACE(cuptiActivityRegisterTimestampCallback(monotonic_ns));
  TRACE(cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed));
  TRACE(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  RUN(cudaSetDevice(0));
  cudaDeviceProp device;
  RUN(cudaGetDeviceProperties(&device, 0));
  const int multiprocessors = device.multiProcessorCount;
  const int warps_per_multiprocessor = device.maxThreadsPerMultiProcessor / 32;

  const size_t bytes = 2ull << 30;  // 2 GiB: forty times the L2 cache of an H200
  uint4 *from = nullptr, *to = nullptr;
  RUN(cudaMalloc(&from, bytes));
  RUN(cudaMalloc(&to, bytes));
  RUN(cudaMemset(from, 1, bytes));
  RUN(cudaDeviceSynchronize());
  usleep(200000);

  {
    Phase phase("full");
    phase.warps = double(multiprocessors) * warps_per_multiprocessor;
    spin<<<multiprocessors * (warps_per_multiprocessor / 8), 256>>>(300'000'000);
  }
  {
    Phase phase("three");  // 3 blocks of 4 warps on each SM: 1,584 warps on an H200
    phase.warps = double(multiprocessors) * 12;
    spin<<<multiprocessors * 3, 128>>>(200'000'000);
  }
  {
    Phase phase("copy");
    constexpr int times = 100;
    phase.read_bytes = phase.write_bytes = bytes * times;
    for (int i = 0; i < times; ++i) copy<<<multiprocessors * 8, 256>>>(from, to, bytes / sizeof(uint4));
  }
  {
    Phase phase("edges");
    std::mt19937_64 random(7);
    for (int i = 0; i < 300; ++i) {
      spin<<<multiprocessors * 2, 256>>>(200'000 + random() % 1'800'000);
      RUN(cudaDeviceSynchronize());
      usleep(300 + random() % 2'700);
    }
  }
  {
    Phase phase("short");
    for (int i = 0; i < 20'000; ++i) spin<<<multiprocessors, 64>>>(2'000);
  }
  usleep(100000);
  std::fclose(phases);

  TRACE(cuptiActivityFlushAll(1));
  FILE* out = std::fopen((folder + "/executions.csv").c_str(), "w");
  if (out == nullptr) {
    std::fprintf(stderr, "counters_pattern: %s/executions.csv cannot be written\n", folder.c_str());
    return 65;
  }
  std::fprintf(out, "start_ns,end_ns,blocks,threads,registers,shared_bytes,device\n");
  for (const Execution& e : executions) {
    std::fprintf(out, "%lu,%lu,%lu,%lu,%lu,%lu,%lu\n", e.start_ns, e.end_ns, e.blocks, e.threads, e.registers,
                 e.shared_bytes, e.device);
  }
  std::fclose(out);
  return 0;
}
