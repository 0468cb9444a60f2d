// SPDX-License-Identifier: Apache-2.0
// Workloads that a report could stumble over.
//   odd_rig short      20,000 kernels of 2 µs          odd_rig long       one kernel of 10 s
//   odd_rig many       ten thousand different kernels  odd_rig none       a context, and no kernel
//   odd_rig processes  two processes take turns (or overlap, under MPS)    odd_rig contexts   two contexts of one process
//   odd_rig sleep      work, three seconds of nothing, work
// And for the cost of recording:
//   odd_rig steps SECONDS    steps of fixed work; prints how long one takes
#include <cuda.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "rig_check.h"

#define DRIVER(call)                                                                   \
  do {                                                                                 \
    if (CUresult error = (call); error != CUDA_SUCCESS) {                              \
      std::fprintf(stderr, "odd_rig: %s: error %d\n", #call, static_cast<int>(error)); \
      std::exit(70);                                                                   \
    }                                                                                  \
  } while (0)

extern "C" __global__ void odd_spin(uint64_t nanoseconds) {
  const uint64_t begin = globaltimer();
  while (globaltimer() - begin < nanoseconds) {
  }
}

extern "C" __global__ void odd_step(int turns, float* out) {
  float value = threadIdx.x;
  for (int i = 0; i < turns; ++i)
    value = value * 0.999f + 1.0f;
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

namespace {

// A step is 20 launches of about 50 µs, and the wait for them.
void steps(double seconds) {
  float* out;
  RIG_RUN(cudaMalloc(&out, 528 * 256 * sizeof(float)));
  std::vector<double> lengths;
  auto step = [&] {
    const uint64_t begin = monotonic_ns();
    for (int i = 0; i < 20; ++i)
      odd_step<<<528, 256>>>(20'000, out);
    RIG_RUN(cudaDeviceSynchronize());
    return double(monotonic_ns() - begin);
  };
  for (const uint64_t until = monotonic_ns() + 1'000'000'000; monotonic_ns() < until;)
    step();  // until the clock has risen
  for (const uint64_t until = monotonic_ns() + uint64_t(seconds * 1e9); monotonic_ns() < until;)
    lengths.push_back(step());
  std::sort(lengths.begin(), lengths.end());
  double sum = 0;
  for (double length : lengths)
    sum += length;
  std::printf("step: median %.0f ns, mean %.0f ns, %zu steps\n", lengths[lengths.size() / 2], sum / lengths.size(),
              lengths.size());
}

void repeat(int times, uint64_t nanoseconds, int blocks, int pause_us) {
  for (int i = 0; i < times; ++i) {
    odd_spin<<<blocks, 128>>>(nanoseconds);
    RIG_RUN(cudaGetLastError());
    if (pause_us > 0) {
      RIG_RUN(cudaDeviceSynchronize());
      usleep(pause_us);
    }
  }
  RIG_RUN(cudaDeviceSynchronize());
}

// PTX that the driver compiles: a thousand empty kernels per module.
void many() {
  RIG_RUN(cudaFree(nullptr));
  for (int module = 0; module < 10; ++module) {
    std::string text = ".version 8.0\n.target sm_70\n.address_size 64\n";
    for (int i = 0; i < 1000; ++i) {
      text += ".visible .entry odd_many_" + std::to_string(module * 1000 + i) + "() { ret; }\n";
    }
    CUmodule loaded;
    DRIVER(cuModuleLoadData(&loaded, text.c_str()));
    for (int i = 0; i < 1000; ++i) {
      CUfunction function;
      DRIVER(cuModuleGetFunction(&function, loaded, ("odd_many_" + std::to_string(module * 1000 + i)).c_str()));
      DRIVER(cuLaunchKernel(function, 132, 1, 1, 128, 1, 1, 0, nullptr, nullptr, nullptr));
    }
    RIG_RUN(cudaDeviceSynchronize());
  }
}

void processes() {
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      repeat(1500, 1'000'000, 132 * (i + 1), i == 0 ? 0 : 200);
      std::exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0)
      std::exit(70);
  }
}

void contexts() {
  DRIVER(cuInit(0));
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([i] {
      CUdevice device;
      CUcontext context;
      DRIVER(cuDeviceGet(&device, 0));
#if CUDA_VERSION >= 13000
      DRIVER(cuCtxCreate(&context, nullptr, 0, device));
#else
      DRIVER(cuCtxCreate(&context, 0, device));
#endif
      // The runtime uses the thread's current context.
      repeat(800, 1'000'000, 132 * (i + 1), 100);
      DRIVER(cuCtxDestroy(context));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace

int main(int count, char** values) {
  const std::string mode = count > 1 ? values[1] : "";
  if (mode == "short") {
    repeat(20'000, 2'000, 132, 0);
  } else if (mode == "long") {
    repeat(1, 10'000'000'000, 264, 0);
  } else if (mode == "many") {
    many();
  } else if (mode == "none") {
    RIG_RUN(cudaFree(nullptr));
    usleep(1'000'000);
  } else if (mode == "processes") {
    processes();
  } else if (mode == "contexts") {
    contexts();
  } else if (mode == "sleep") {
    repeat(300, 1'000'000, 264, 500);
    usleep(3'000'000);
    repeat(300, 1'000'000, 264, 500);
  } else if (mode == "steps") {
    steps(count > 2 ? std::atof(values[2]) : 3);
  } else {
    std::fprintf(stderr, "usage: odd_rig short|long|many|none|processes|contexts|sleep|steps SECONDS\n");
    return 64;
  }
  return 0;
}
