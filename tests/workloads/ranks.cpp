// Ranks in processes of their own, a device each, that compute and reduce; with a planted reason for one of them to be late.
//
//   ranks --truth DIRECTORY [--ranks 4] [--steps 40] [--graph 0|1] [--slow-rank R --slow-us N] [--late-rank R --late-us N]
//         [--spin-rank R] [--seed N] [--first R --count N --rendezvous FILE]
//
// With --rendezvous several calls make up one job, each with some of its ranks, as on several hosts: who has rank 0 writes the ids
// of the communicators into the file, the others read them there.
//
// A step is four layers of gemm_kernel, k_kernel, softmax_kernel and an all-reduce. --slow-rank: k_kernel takes so much longer there, in
// the second layer. --late-rank: its dispatcher sleeps before each step. --spin-rank: k_kernel takes 2 ms longer there while an
// all-gather of another communicator, whose other rank comes late, spins beside it (eager runs only). Kernels' times vary by 3%, in a
// graph not at all: there a variation would be a difference between the ranks for good.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "cuda_api.h"
#include "nvtx.h"
#include "truth.h"

extern "C" int ncclAllGather(const void*, void*, size_t, int, void*, void*);

namespace workloads {
namespace {

struct Settings {
  std::string truth;
  std::string rendezvous;
  int first = 0, count = 0;  // ranks of this call; 0: all
  int ranks = 4, steps = 40, graph = 0, slow_rank = -1, late_rank = -1, spin_rank = -1;
  int64_t slow_ns = 0, late_ns = 0;
  uint64_t seed = 1;
};

constexpr int layers = 4, slow_layer = 1;
constexpr uint64_t collective_elements = 1 << 20;
constexpr int float32 = 7, sum = 0;  // ncclDataType_t, ncclRedOp_t
constexpr uint64_t spin_slows_ns = 2'000'000;

constexpr const char* module_text =
    "//simcuda gemm_kernel argument_ns=0 registers=64\n"
    "//simcuda k_kernel argument_ns=0 registers=40\n"
    "//simcuda softmax_kernel argument_ns=0 registers=32\n";

class Rank {
 public:
  Rank(const Settings& settings, int rank) : settings_(settings), rank_(rank), random_(settings.seed * 1000 + rank) {}

  void run(const NcclUniqueId& all, const NcclUniqueId& pair) {
    truth::process(rank_);
    set_up(all, pair);
    if (settings_.graph != 0) {
      MUST(cuStreamBeginCapture_v2(stream_, 1));
      layers_of_a_step();
      void* captured = nullptr;
      MUST(cuStreamEndCapture(stream_, &captured));
      MUST(cuGraphInstantiateWithFlags(&graph_, captured, 0));
    }
    for (int step = 0; step < settings_.steps; ++step) {
      nvtx::push("step");
      if (rank_ == settings_.late_rank) {
        timespec duration{0, settings_.late_ns};
        nanosleep(&duration, nullptr);
      }
      if (graph_ != nullptr) {
        MUST(cuGraphLaunch(graph_, stream_));
      } else {
        layers_of_a_step();
      }
      MUST(cuStreamSynchronize(stream_));
      nvtx::pop();
    }
    MUST(cuCtxSynchronize());
    MUST(ncclCommDestroy(communicator_));
    truth::end();
  }

 private:
  void set_up(const NcclUniqueId& all, const NcclUniqueId& pair) {
    void *context = nullptr, *module = nullptr;
    int devices = 0;
    truth::observe_device(simcuda_observe, simcuda_collect);
    MUST(cuInit(0));
    MUST(cuDeviceGetCount(&devices));
    MUST(cuDevicePrimaryCtxRetain(&context, rank_ % devices));
    MUST(cuCtxSetCurrent(context));
    MUST(cuModuleLoadData(&module, module_text));
    MUST(cuModuleGetFunction(&gemm_, module, "gemm_kernel"));
    MUST(cuModuleGetFunction(&k_, module, "k_kernel"));
    MUST(cuModuleGetFunction(&softmax_, module, "softmax_kernel"));
    constexpr unsigned non_blocking = 1;
    MUST(cuStreamCreate(&stream_, non_blocking));
    MUST(cuStreamCreate(&side_, non_blocking));
    MUST(cuEventCreate(&event_, 0));
    MUST(ncclCommInitRank(&communicator_, settings_.ranks, all, rank_));
    spins_ = settings_.spin_rank >= 0 && rank_ == settings_.spin_rank;
    comes_late_ = settings_.spin_rank >= 0 && rank_ == (settings_.spin_rank + 1) % settings_.ranks;
    if (spins_ || comes_late_) {
      MUST(ncclCommInitRank(&pair_, 2, pair, spins_ ? 0 : 1));
    }
  }

  void launch(void* function, uint64_t time_ns) {
    if (settings_.graph == 0) {
      time_ns = static_cast<uint64_t>(static_cast<double>(time_ns) * (1 + 0.03 * normal_(random_)));
    }
    void* arguments[] = {&time_ns};
    MUST(cuLaunchKernel(function, 64, 1, 1, 128, 1, 1, 0, stream_, arguments, nullptr));
  }

  // In the side stream, once what was launched so far is done.
  void gather_of_the_pair() {
    MUST(cuEventRecord(event_, stream_));
    MUST(cuStreamWaitEvent(side_, event_, 0));
    MUST(ncclAllGather(nullptr, nullptr, 1024, float32, pair_, side_));
  }

  void layers_of_a_step() {
    for (int layer = 0; layer < layers; ++layer) {
      const bool slow = layer == slow_layer && rank_ == settings_.slow_rank;
      const bool spin = layer == slow_layer && spins_;
      launch(gemm_, 500'000);
      if (spin) {
        gather_of_the_pair();
      }
      launch(k_, 500'000 + (slow ? static_cast<uint64_t>(settings_.slow_ns) : 0) + (spin ? spin_slows_ns : 0));
      launch(softmax_, 300'000);
      if (layer == slow_layer && comes_late_) {
        gather_of_the_pair();
      }
      MUST(ncclAllReduce(nullptr, nullptr, collective_elements, float32, sum, communicator_, stream_));
    }
  }

  const Settings& settings_;
  int rank_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  void *gemm_ = nullptr, *k_ = nullptr, *softmax_ = nullptr;
  void *stream_ = nullptr, *side_ = nullptr, *event_ = nullptr, *graph_ = nullptr;
  void *communicator_ = nullptr, *pair_ = nullptr;
  bool spins_ = false, comes_late_ = false;
};

struct Ids {
  NcclUniqueId all, pair;
};

Ids make_ids() {
  Ids ids;
  MUST(ncclGetUniqueId(&ids.all));
  MUST(ncclGetUniqueId(&ids.pair));
  return ids;
}

// Of all calls of one job. Waits for at most 30 s.
Ids agreed_ids(const Settings& settings) {
  const std::string unfinished = settings.rendezvous + ".unfinished";
  if (settings.first == 0) {
    const Ids ids = make_ids();
    std::FILE* file = std::fopen(unfinished.c_str(), "wb");
    if (file == nullptr || std::fwrite(&ids, sizeof ids, 1, file) != 1 || std::fclose(file) != 0 ||
        std::rename(unfinished.c_str(), settings.rendezvous.c_str()) != 0) {
      std::perror("ranks: rendezvous");
      std::exit(1);
    }
    return ids;
  }
  for (int attempt = 0; attempt < 3000; ++attempt) {
    if (std::FILE* file = std::fopen(settings.rendezvous.c_str(), "rb"); file != nullptr) {
      Ids ids;
      const bool read = std::fread(&ids, sizeof ids, 1, file) == 1;
      std::fclose(file);
      if (read) {
        return ids;
      }
    }
    usleep(10'000);
  }
  std::fprintf(stderr, "ranks: nobody came to %s\n", settings.rendezvous.c_str());
  std::exit(1);
}

int run(const Settings& settings) {
  const auto [all, pair] = settings.rendezvous.empty() ? make_ids() : agreed_ids(settings);
  std::vector<pid_t> children;
  const int end = settings.count > 0 ? settings.first + settings.count : settings.ranks;
  for (int i = settings.first; i < end; ++i) {
    pid_t child = fork();
    if (child == 0) {
      truth::begin(settings.truth);
      Rank(settings, i).run(all, pair);
      std::exit(0);
    }
    children.push_back(child);
  }
  int worst = 0;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
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
    if (name == "--truth") {
      settings.truth = value;
    } else if (name == "--ranks") {
      settings.ranks = std::atoi(value);
    } else if (name == "--steps") {
      settings.steps = std::atoi(value);
    } else if (name == "--graph") {
      settings.graph = std::atoi(value);
    } else if (name == "--slow-rank") {
      settings.slow_rank = std::atoi(value);
    } else if (name == "--slow-us") {
      settings.slow_ns = std::atoll(value) * 1000;
    } else if (name == "--late-rank") {
      settings.late_rank = std::atoi(value);
    } else if (name == "--late-us") {
      settings.late_ns = std::atoll(value) * 1000;
    } else if (name == "--spin-rank") {
      settings.spin_rank = std::atoi(value);
    } else if (name == "--first") {
      settings.first = std::atoi(value);
    } else if (name == "--count") {
      settings.count = std::atoi(value);
    } else if (name == "--rendezvous") {
      settings.rendezvous = value;
    } else if (name == "--seed") {
      settings.seed = std::strtoull(value, nullptr, 10);
    } else {
      std::fprintf(stderr, "ranks: unknown option %s\n", name.c_str());
      return 2;
    }
  }
  return workloads::run(settings);
}
