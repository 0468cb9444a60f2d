// A small serving job with a planted truth: ranks in processes of their own, a device each, four streams, two dispatcher
// threads, one graph, a collective per step with one rank made late by a sleep.
//
//   serving --truth DIRECTORY [--processes 3] [--executions 50000] [--steps 60] [--sleep-us 3000]
//
// --executions is the number of kernels that run in all processes together, exactly. $KVET_SIMCUDA_MUTANT=skip_sleep writes
// sleeps into the truth that never happened.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "cuda_api.h"
#include "nvtx.h"
#include "truth.h"

namespace workloads {
namespace {

struct Settings {
  std::string truth;
  int processes = 3, executions = 50000, steps = 60;
  int64_t sleep_ns = 3'000'000;
};

constexpr int graph_nodes = 20, graph_launches_per_step = 4;
constexpr uint64_t collective_elements = 1 << 20;
constexpr int float32 = 7, sum = 0;  // ncclDataType_t, ncclRedOp_t

// Resources and traffic per block as a transformer's kernels have them, in round numbers.
constexpr const char* module_text =
    "//simcuda _Z14rmsnorm_kernelPK6__halfPS_if registers=40 block_ns=6000 read=32768 write=32768 instructions=2000\n"
    "//simcuda _Z11gemm_kernelPK6__halfS1_PS_iii registers=168 shared=49152 block_ns=14000 read=131072 write=16384 "
    "instructions=9000\n"
    "//simcuda _Z14softmax_kernelPK6__halfPS_i registers=32 block_ns=5000 read=16384 write=16384 instructions=1500\n"
    "//simcuda _Z10add_kernelPK6__halfPS_ registers=16 block_ns=3000 read=8192 write=8192 instructions=300\n";
struct Kernel {
  const char* name;
  uint32_t grid, block;
  void* function;
};

struct Rank {
  Settings settings;
  int rank = 0, total = 0;
  void* context = nullptr;
  void* streams[4] = {};
  void* graph = nullptr;
  void* communicator = nullptr;
  std::vector<Kernel> kernels;
};

void launch(const Rank& rank, int kernel, int stream, bool captured = false) {
  const Kernel& what = rank.kernels[static_cast<size_t>(kernel)];
  int64_t start = now_ns();
  MUST(cuLaunchKernel(what.function, what.grid, 1, 1, what.block, 1, 1, 0, rank.streams[stream], nullptr, nullptr));
  int64_t end = now_ns();
  if (captured) {
    truth::captured(start, end);
  } else {
    truth::launch(start, end, "cuLaunchKernel", what.name, what.grid, stream, 1);
  }
}

void launch_graph(const Rank& rank) {
  int64_t start = now_ns();
  MUST(cuGraphLaunch(rank.graph, rank.streams[3]));
  truth::launch(start, now_ns(), "cuGraphLaunch", "graph", 0, 3, graph_nodes);
}

void sleep_planted(int64_t requested_ns) {
  static const bool skip = [] {
    const char* mutant = std::getenv("KVET_SIMCUDA_MUTANT");
    return mutant != nullptr && std::strcmp(mutant, "skip_sleep") == 0;
  }();
  timespec duration{requested_ns / 1'000'000'000, requested_ns % 1'000'000'000};
  int64_t start = now_ns();
  if (skip) {
    while (now_ns() - start < requested_ns) {
    }
  } else {
    nanosleep(&duration, nullptr);
  }
  truth::sleep(start, now_ns(), requested_ns);
}

void make_graph(Rank& rank) {
  void* graph = nullptr;
  MUST(cuStreamBeginCapture_v2(rank.streams[3], 1));
  for (int i = 0; i < graph_nodes; ++i) {
    launch(rank, i % static_cast<int>(rank.kernels.size()), 3, true);
  }
  MUST(cuStreamEndCapture(rank.streams[3], &graph));
  MUST(cuGraphInstantiateWithFlags(&rank.graph, graph, 0));
}

void set_up(Rank& rank, const NcclUniqueId& id) {
  void* module = nullptr;
  int devices = 0;
  truth::observe_device(simcuda_observe, simcuda_collect);
  MUST(cuInit(0));
  MUST(cuDeviceGetCount(&devices));
  MUST(cuDevicePrimaryCtxRetain(&rank.context, rank.rank % devices));
  MUST(cuCtxSetCurrent(rank.context));
  MUST(cuModuleLoadData(&module, module_text));
  rank.kernels = {{"_Z14rmsnorm_kernelPK6__halfPS_if", 64, 256, nullptr},
                  {"_Z11gemm_kernelPK6__halfS1_PS_iii", 96, 128, nullptr},
                  {"_Z14softmax_kernelPK6__halfPS_i", 128, 128, nullptr},
                  {"_Z10add_kernelPK6__halfPS_", 200, 256, nullptr}};
  for (Kernel& kernel : rank.kernels) {
    MUST(cuModuleGetFunction(&kernel.function, module, kernel.name));
  }
  constexpr unsigned non_blocking = 1;
  for (void*& stream : rank.streams) {
    MUST(cuStreamCreate(&stream, non_blocking));
  }
  make_graph(rank);
  MUST(ncclCommInitRank(&rank.communicator, rank.settings.processes, id, rank.rank));
}

// The second dispatcher: stream 2 eagerly, stream 3 by graph.
void run_second_dispatcher(const Rank& rank, int eager) {
  MUST(cuCtxSetCurrent(rank.context));
  for (int step = 0; step < rank.settings.steps; ++step) {
    for (int i = 0; i < graph_launches_per_step; ++i) {
      launch_graph(rank);
    }
    int share = eager * (step + 1) / rank.settings.steps - eager * step / rank.settings.steps;
    for (int i = 0; i < share; ++i) {
      launch(rank, i % 4, 2);
    }
    sleep_planted(rank.settings.sleep_ns / 3);
    MUST(cuStreamSynchronize(rank.streams[2]));
  }
}

void run_first_dispatcher(const Rank& rank, int eager) {
  for (int step = 0; step < rank.settings.steps; ++step) {
    int64_t step_start = now_ns();
    nvtx::push("step");
    int share = eager * (step + 1) / rank.settings.steps - eager * step / rank.settings.steps;
    for (int i = 0; i < share; ++i) {
      launch(rank, i % 4, i % 2);
    }
    if (step % rank.settings.processes == rank.rank) {
      sleep_planted(rank.settings.sleep_ns);
      truth::late(step, rank.rank, now_ns());
    }
    int64_t start = now_ns();
    MUST(ncclAllReduce(nullptr, nullptr, collective_elements, float32, sum, rank.communicator, rank.streams[0]));
    int64_t end = now_ns();
    truth::collective(start, end, collective_elements, rank.rank, step);
    truth::launch(start, end, "ncclAllReduce", "nccl", 16, 0, 1);
    MUST(cuStreamSynchronize(rank.streams[0]));
    nvtx::pop();
    truth::range("step", step_start, now_ns());
  }
}

void run_rank(Rank& rank, const NcclUniqueId& id) {
  truth::process(rank.rank);
  set_up(rank, id);
  int from_graphs = rank.settings.steps * graph_launches_per_step * graph_nodes;
  int eager = rank.total - from_graphs - rank.settings.steps;  // less one collective per step
  if (eager < 0) {
    std::fprintf(stderr, "serving: --executions is too small for %d steps\n", rank.settings.steps);
    std::exit(2);
  }
  int second_share = eager / 3;
  std::thread second(run_second_dispatcher, std::cref(rank), second_share);
  run_first_dispatcher(rank, eager - second_share);
  second.join();
  MUST(cuCtxSynchronize());
  MUST(ncclCommDestroy(rank.communicator));
  truth::end();
}

int run(const Settings& settings) {
  NcclUniqueId id;
  MUST(ncclGetUniqueId(&id));
  std::vector<pid_t> children;
  int given = 0;
  for (int i = 0; i < settings.processes; ++i) {
    Rank rank;
    rank.settings = settings;
    rank.rank = i;
    rank.total = settings.executions * (i + 1) / settings.processes - given;
    given += rank.total;
    pid_t child = fork();
    if (child == 0) {
      truth::begin(settings.truth);
      run_rank(rank, id);
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
  std::printf("executions: %d\n", settings.executions);
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
    } else if (name == "--processes") {
      settings.processes = std::atoi(value);
    } else if (name == "--executions") {
      settings.executions = std::atoi(value);
    } else if (name == "--steps") {
      settings.steps = std::atoi(value);
    } else if (name == "--sleep-us") {
      settings.sleep_ns = std::atoll(value) * 1000;
    } else {
      std::fprintf(stderr, "serving: unknown option %s\n", name.c_str());
      return 2;
    }
  }
  return workloads::run(settings);
}
