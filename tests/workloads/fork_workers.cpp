// A server that forks its workers, twice, in two containers that share an image: two mount namespaces, each with an overlay
// mount of its own over the folder with the driver library, so that one file has two device numbers. In the first the library is
// mapped before the workers are forked; in the second each worker loads it. Every worker initialises CUDA itself.
//
//   fork_workers --library DIRECTORY --scratch DIRECTORY --truth DIRECTORY [--workers 100] [--launches 20] [--at-once 10]
//
// Exit status 77: this machine allows no mount namespaces or overlay mounts.
#include <dlfcn.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cuda_api.h"
#include "truth.h"

namespace workloads {
namespace {

struct Settings {
  std::string library, scratch, truth;
  int workers = 100, launches = 20, at_once = 10;
};
constexpr int skipped = 77;
constexpr int containers = 2;

constexpr const char* module_text = "//simcuda _Z13worker_kernelPf registers=32 block_ns=20000\n";
constexpr const char* kernel_name = "_Z13worker_kernelPf";

template <class Function>
Function find(void* library, const char* name) {
  void* found = dlsym(library, name);
  must(found == nullptr ? 1 : 0, name);
  return reinterpret_cast<Function>(found);
}

void* load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "fork_workers: %s\n", dlerror());
    std::exit(1);
  }
  return library;
}

void run_worker(const Settings& settings, void* library, int rank) {
  truth::begin(settings.truth);
  truth::process(rank);
  truth::observe_device(find<decltype(&simcuda_observe)>(library, "simcuda_observe"),
                        find<decltype(&simcuda_collect)>(library, "simcuda_collect"));
  auto launch = find<decltype(&cuLaunchKernel)>(library, "cuLaunchKernel");
  auto synchronize = find<decltype(&cuStreamSynchronize)>(library, "cuStreamSynchronize");
  void *context = nullptr, *module = nullptr, *function = nullptr, *stream = nullptr;
  MUST(find<decltype(&cuInit)>(library, "cuInit")(0));
  MUST(find<decltype(&cuDevicePrimaryCtxRetain)>(library, "cuDevicePrimaryCtxRetain")(&context, 0));
  MUST(find<decltype(&cuCtxSetCurrent)>(library, "cuCtxSetCurrent")(context));
  MUST(find<decltype(&cuModuleLoadData)>(library, "cuModuleLoadData")(&module, module_text));
  MUST(find<decltype(&cuModuleGetFunction)>(library, "cuModuleGetFunction")(&function, module, kernel_name));
  MUST(find<decltype(&cuStreamCreate)>(library, "cuStreamCreate")(&stream, 1));
  for (int i = 0; i < settings.launches; ++i) {
    auto grid = static_cast<uint32_t>(1 + rank);
    int64_t start = now_ns();
    MUST(launch(function, grid, 1, 1, 64, 1, 1, 0, stream, nullptr, nullptr));
    truth::launch(start, now_ns(), "cuLaunchKernel", kernel_name, grid, 0, 1);
  }
  MUST(synchronize(stream));
  truth::end();
}

std::string mount_overlay(const Settings& settings, int container) {
  std::string base = settings.scratch + "/container" + std::to_string(container);
  std::string empty = base + ".empty";
  mkdir(base.c_str(), 0755);
  mkdir(empty.c_str(), 0755);
  // Two lower layers and no upper one: read-only, as an image is.
  std::string options = "lowerdir=" + settings.library + ":" + empty;
  if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("overlay", base.c_str(), "overlay", MS_RDONLY, options.c_str()) != 0) {
    std::fprintf(stderr, "fork_workers: no mount namespace with an overlay here: %s\n", std::strerror(errno));
    std::exit(skipped);
  }
  return base + "/libcuda.so.1";
}

int wait_for_one() {
  int status = 0;
  if (wait(&status) < 0) {
    return 0;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int run_container(const Settings& settings, int container) {
  std::string path = mount_overlay(settings, container);
  void* library = container == 0 ? load(path) : nullptr;
  int worst = 0, running = 0;
  int share = settings.workers / containers;
  for (int i = 0; i < share; ++i) {
    if (running == settings.at_once) {
      worst = std::max(worst, wait_for_one());
      --running;
    }
    if (fork() == 0) {
      run_worker(settings, library == nullptr ? load(path) : library, container * share + i);
      std::exit(0);
    }
    ++running;
  }
  for (; running > 0; --running) {
    worst = std::max(worst, wait_for_one());
  }
  return worst;
}

int run(const Settings& settings) {
  for (int container = 0; container < containers; ++container) {
    if (fork() == 0) {
      std::exit(run_container(settings, container));
    }
  }
  int worst = 0;
  for (int container = 0; container < containers; ++container) {
    worst = std::max(worst, wait_for_one());
  }
  return worst;
}

}  // namespace
}  // namespace workloads

int main(int count, char** arguments) {
  workloads::Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    std::string name = arguments[i];
    const char* value = arguments[i + 1];
    if (name == "--library") {
      settings.library = value;
    } else if (name == "--scratch") {
      settings.scratch = value;
    } else if (name == "--truth") {
      settings.truth = value;
    } else if (name == "--workers") {
      settings.workers = std::atoi(value);
    } else if (name == "--launches") {
      settings.launches = std::atoi(value);
    } else if (name == "--at-once") {
      settings.at_once = std::atoi(value);
    } else {
      std::fprintf(stderr, "fork_workers: unknown option %s\n", name.c_str());
      return 2;
    }
  }
  return workloads::run(settings);
}
