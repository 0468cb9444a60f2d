#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "cuda_api.h"

namespace workloads {

void must(int result, const char* call) {
  if (result != 0) {
    std::fprintf(stderr, "workload %d: %s gave %d\n", getpid(), call, result);
    std::exit(1);
  }
}

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

int32_t thread_id() { return static_cast<int32_t>(syscall(SYS_gettid)); }

}  // namespace workloads
