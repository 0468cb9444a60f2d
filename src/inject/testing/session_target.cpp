// A small CUDA program for tests of the injected library: what it does is what a recording must show. It opens libcuda by
// its soname, so it runs on the stand-in and on a GPU alike.
//   session_target MODE LAUNCHES
//     run      launch, synchronise, exit
//     kill     the same, then wait for a flush and die by SIGKILL
//     _exit    the same, then leave by _exit
//     fork     fork after CUDA was initialised; the child prints its pid, waits for input to end, and exits
//     early    fork before; both launch
//     threads  launch from four threads
//     late     wait two seconds before launching
//     lock     lock all memory before CUDA starts, and print "resident MIB" before it ends; or print "not allowed"
//     lock_late  the same after CUDA has started
//     pulse    launch, wait a millisecond, and so on until its input ends; prints "launched N" at the end
//     signal   call exit() in a handler of SIGUSR1, wherever that arrives
// It prints "launched N" for each process before it ends.
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace {

template <class Function>
Function driver(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    fprintf(stderr, "session_target: no libcuda.so.1\n");
    _exit(77);
  }
  return reinterpret_cast<Function>(dlsym(library, name));
}

void must(int result, const char* what) {
  if (result != 0) {
    fprintf(stderr, "session_target: %s failed: %d\n", what, result);
    _exit(1);
  }
}

constexpr const char* module_text = "//simcuda _Z6kernelPf registers=32 block_ns=2000\n";

struct Cuda {
  void* context = nullptr;
  void* function = nullptr;
  void* stream = nullptr;
  void start() {
    must(driver<int (*)(unsigned)>("cuInit")(0), "cuInit");
    must(driver<int (*)(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0), "cuDevicePrimaryCtxRetain");
    must(driver<int (*)(void*)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
    void* module = nullptr;
    must(driver<int (*)(void**, const void*)>("cuModuleLoadData")(&module, module_text), "cuModuleLoadData");
    must(driver<int (*)(void**, void*, const char*)>("cuModuleGetFunction")(&function, module, "_Z6kernelPf"),
         "cuModuleGetFunction");
    must(driver<int (*)(void**, unsigned)>("cuStreamCreate")(&stream, 1), "cuStreamCreate");
  }
  void launch(int launches) const {
    using Launch =
        int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
    const auto call = driver<Launch>("cuLaunchKernel");
    must(driver<int (*)(void*)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
    for (int i = 0; i < launches; ++i) {
      must(call(function, 8, 1, 1, 64, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
    }
    must(driver<int (*)(void*)>("cuStreamSynchronize")(stream), "cuStreamSynchronize");
  }
};

void wait_ms(long milliseconds) {
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&time, nullptr);
}

void launched(int launches) {
  printf("launched %d %d\n", launches, getpid());
  fflush(stdout);
}

void lock_memory() {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    printf("not allowed\n");
    fflush(stdout);
    _exit(0);
  }
}

void print_resident() {
  FILE* file = fopen("/proc/self/statm", "re");
  unsigned long pages = 0;
  if (file == nullptr || fscanf(file, "%*s %lu", &pages) != 1) {
    _exit(1);
  }
  fclose(file);
  printf("resident %.1f\n", static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1048576);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    fprintf(stderr, "session_target MODE LAUNCHES\n");
    return 64;
  }
  const char* mode = arguments[1];
  const int launches = atoi(arguments[2]);
  const auto is = [&](const char* name) { return strcmp(mode, name) == 0; };
  Cuda cuda;
  if (is("early")) {
    const pid_t child = fork();
    cuda.start();
    cuda.launch(launches);
    launched(launches);
    if (child > 0) {
      waitpid(child, nullptr, 0);
    }
    exit(0);
  }
  if (is("lock")) {
    lock_memory();
  }
  cuda.start();
  if (is("lock_late")) {
    lock_memory();
  }
  if (is("late")) {
    wait_ms(2000);
  }
  if (is("signal")) {
    signal(SIGUSR1, [](int) { exit(0); });
  }
  if (is("pulse")) {
    int sent = 0;
    for (pollfd input{0, POLLIN, 0}; poll(&input, 1, 1) == 0;) {
      cuda.launch(launches);
      sent += launches;
    }
    launched(sent);
    return 0;
  }
  if (is("threads")) {
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { cuda.launch(launches / 4); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  } else {
    cuda.launch(launches);
  }
  if (is("fork")) {
    const pid_t child = fork();
    if (child == 0) {
      printf("child %d\n", getpid());
      fflush(stdout);
      while (getchar() != EOF) {
      }
      exit(3);  // runs the exit handlers of the library in the child
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) {
      fprintf(stderr, "session_target: the child ended with %d\n", status);
      return 1;
    }
    cuda.launch(launches);
    launched(2 * launches);
    return 0;
  }
  if (is("lock") || is("lock_late")) {
    print_resident();
  }
  launched(launches);
  if (is("kill") || is("_exit")) {
    wait_ms(1500);
    if (is("kill")) {
      raise(SIGKILL);
    }
    _exit(0);
  }
  return 0;
}
