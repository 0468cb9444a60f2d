// One arm of a comparison: a loop of steps, each some stock kernels and eight launches of the kernel in question, whose time the
// test chooses. Each step is an NVTX range; at the end the loop says how fast it was.
//
//   variant [--kernel NAME] [--kernel-us 100] [--steps 100] [--launches 8] [--beside 0|1] [--think-us 0] [--code N]
//
// --beside 1: a memory-bound kernel runs in a second stream all the time. --code N: other code under the same name.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "cuda_api.h"
#include "nvtx.h"

namespace workloads {
namespace {

struct Settings {
  std::string kernel = "_Z11norm_kernelPf";
  double kernel_us = 100;
  int steps = 100, launches = 8, beside = 0, code = 1;
  int64_t think_ns = 0;
};

struct Loop {
  Settings settings;
  void *stream = nullptr, *second = nullptr;
  void *kernel = nullptr, *gemm = nullptr, *background = nullptr;
};

Loop set_up(const Settings& settings) {
  Loop loop;
  loop.settings = settings;
  void *context = nullptr, *module = nullptr;
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuCtxSetCurrent(context));
  std::string text =
      "//simcuda " + settings.kernel + " registers=40 argument_ns instructions=" + std::to_string(settings.code) +
      "\n" +
      "//simcuda _Z11gemm_kernelPfS_S_ registers=128 shared=32768 block_ns=40000 read=262144 write=32768\n"
      "//simcuda _Z17background_kernelPf registers=32 block_ns=50000 read=1048576\n";
  MUST(cuModuleLoadData(&module, text.c_str()));
  MUST(cuModuleGetFunction(&loop.kernel, module, settings.kernel.c_str()));
  MUST(cuModuleGetFunction(&loop.gemm, module, "_Z11gemm_kernelPfS_S_"));
  MUST(cuModuleGetFunction(&loop.background, module, "_Z17background_kernelPf"));
  MUST(cuStreamCreate(&loop.stream, 1));
  MUST(cuStreamCreate(&loop.second, 1));
  return loop;
}

void run_step(const Loop& loop, int step) {
  nvtx::Range range("step");
  if (loop.settings.beside != 0) {
    for (int i = 0; i < 4; ++i) {
      MUST(cuLaunchKernel(loop.background, 66, 1, 1, 256, 1, 1, 0, loop.second, nullptr, nullptr));
    }
  }
  // Up to 3% slower and faster from step to step, the same in both arms.
  double weight = 1 + 0.03 * std::sin(step);
  auto duration_ns = static_cast<uint64_t>(std::llround(loop.settings.kernel_us * 1000 * weight));
  void* arguments[] = {&duration_ns};
  for (int i = 0; i < loop.settings.launches; ++i) {
    MUST(cuLaunchKernel(loop.kernel, 132, 1, 1, 256, 1, 1, 0, loop.stream, arguments, nullptr));
    if (i % 2 == 0) {
      MUST(cuLaunchKernel(loop.gemm, 132, 1, 1, 128, 1, 1, 0, loop.stream, nullptr, nullptr));
    }
  }
  MUST(cuStreamSynchronize(loop.stream));
  MUST(cuStreamSynchronize(loop.second));
}

int run(const Settings& settings) {
  Loop loop = set_up(settings);
  int64_t start = now_ns();
  for (int step = 0; step < settings.steps; ++step) {
    run_step(loop, step);
    if (settings.think_ns > 0) {
      timespec pause{settings.think_ns / 1'000'000'000, settings.think_ns % 1'000'000'000};
      nanosleep(&pause, nullptr);
    }
  }
  MUST(cuCtxSynchronize());
  double seconds = static_cast<double>(now_ns() - start) / 1e9;
  std::printf("throughput: %.3f steps/s\n", settings.steps / seconds);
  return 0;
}

}  // namespace
}  // namespace workloads

int main(int count, char** arguments) {
  workloads::Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    std::string name = arguments[i];
    const char* value = arguments[i + 1];
    if (name == "--kernel") {
      settings.kernel = value;
    } else if (name == "--kernel-us") {
      settings.kernel_us = std::atof(value);
    } else if (name == "--steps") {
      settings.steps = std::atoi(value);
    } else if (name == "--launches") {
      settings.launches = std::atoi(value);
    } else if (name == "--beside") {
      settings.beside = std::atoi(value);
    } else if (name == "--think-us") {
      settings.think_ns = std::atoll(value) * 1000;
    } else if (name == "--code") {
      settings.code = std::atoi(value);
    } else {
      std::fprintf(stderr, "variant: unknown option %s\n", name.c_str());
      return 2;
    }
  }
  return workloads::run(settings);
}
