// Captures of ranks that compute and reduce, with a planted reason for one of them to be late. Tests only.
//
// Four layers per step: gemm, k, softmax, all-reduce. All ranks leave an all-reduce together, a transfer after the last has come.
// Kernels' times vary by themselves; the host is ahead of the device, and waits for it once per step.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "model/capture.h"
#include "questions/questions.h"

namespace kvet::questions {

struct RanksPlan {
  uint64_t seed = 1;
  uint32_t ranks = 4;
  int steps = 40, layers = 4;
  bool graph = false;  // one graph launch per step, else eager
  bool ranges = true;  // an NVTX range around each step of an eager run; a graph launch is a step by itself
  bool own_stream = false;  // collectives in a stream of their own, as PyTorch has it
  double noise = 0.05;  // standard deviation of a kernel's time, relative
  double growth = 0;  // by how much of itself everything takes longer at the end
  int slow_rank = -1, slow_layer = 1, every = 1;  // where k takes longer, and in which steps
  int64_t slow_ns = 24'000;
  int spin_rank = -1;  // k is slowed there, since another communicator's collective spins beside it
  int late_host_rank = -1;  // its dispatcher falls asleep before a launch
  int64_t sleep_ns = 600'000;
};

class PlantedRanks {
 public:
  static constexpr uint32_t k = 0, gemm = 1, softmax = 2, all_reduce = 3, other_collective = 4;
  static constexpr int64_t transfer_ns = 30'000;
  Capture capture;
  std::vector<double> waited;  // per rank, all waiting: the truth
  int64_t offset_of_rank[16] = {};  // by which a rank's times are to be off; set before run()

  explicit PlantedRanks(const RanksPlan& plan) : waited(plan.ranks), plan_(plan), random_(plan.seed) {
    capture.meta["tier"] = "device";
    capture.strings = {"",
                       "k",
                       "gemm",
                       "softmax",
                       "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
                       "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE",
                       "00aa",
                       "step"};
    for (uint32_t shape = 0; shape < 5; ++shape) {
      KernelShape entry;
      entry.id = ShapeId{shape};
      entry.name = StringId{1 + shape};
      capture.shapes.push_back(entry);
    }
    for (uint32_t rank = 0; rank < plan.ranks; ++rank) {
      Process process;
      process.id = ProcessId{rank};
      process.pid = 100 + static_cast<int32_t>(rank);
      capture.processes.push_back(process);
      Device device;
      device.id = DeviceId{rank};
      capture.devices.push_back(device);
      Communicator communicator;
      communicator.process = ProcessId{rank};
      communicator.communicator = 0xA0;
      communicator.rank = static_cast<int32_t>(rank);
      communicator.ranks = static_cast<int32_t>(plan.ranks);
      communicator.unique_id = StringId{6};
      communicator.created_ns = -1'000'000;
      capture.communicators.push_back(communicator);
    }
  }

  PlantedRanks& run() {
    std::vector<State> states(plan_.ranks);
    if (plan_.graph) {
      capture_graph();
    }
    for (int step = 0; step < plan_.steps; ++step) {
      for (uint32_t rank = 0; rank < plan_.ranks; ++rank) {
        begin_step(rank, step, states[rank]);
      }
      for (int layer = 0; layer < plan_.layers; ++layer) {
        for (uint32_t rank = 0; rank < plan_.ranks; ++rank) {
          run_layer(rank, step, layer, states[rank]);
        }
        reduce(layer, states);
      }
      for (uint32_t rank = 0; rank < plan_.ranks; ++rank) {
        call(rank, ApiKind::synchronize_stream, 0, states[rank].host, states[rank].device_end + 5'000);
        if (plan_.ranges && !plan_.graph) {
          range(rank, states[rank].begun, states[rank].device_end + 6'000);
        }
        states[rank].host = states[rank].device_end + 8'000;
      }
    }
    std::ranges::stable_sort(capture.api_calls, {}, &ApiCall::start_ns);
    std::ranges::stable_sort(capture.executions, {}, &Execution::start_ns);
    std::ranges::stable_sort(capture.collective_calls, {}, &CollectiveCall::start_ns);
    return *this;
  }

  KernelSet set() const {
    KernelSet kernels;
    kernels.label = "k";
    kernels.has_shape = {true, false, false, false, false};
    return kernels;
  }

 private:
  struct State {
    int64_t host = 0, begun = 0, device_end = 0, released = 0;
    uint32_t correlation = 0, graph_launch = 0;
    uint64_t node = 0;
  };

  double noisy(double mean, int step) {
    const double grown = 1 + plan_.growth * step / plan_.steps;
    return mean * grown * std::exp(plan_.noise * normal_(random_));
  }

  void call(uint32_t rank, ApiKind kind, uint32_t correlation, int64_t start, int64_t end, bool captured = false) {
    ApiCall entry;
    entry.process = ProcessId{rank};
    entry.thread_id = 100 + static_cast<int32_t>(rank);
    entry.kind = kind;
    entry.correlation_id = correlation;
    entry.start_ns = start + offset_of_rank[rank];
    entry.end_ns = std::max(start, end) + offset_of_rank[rank];
    entry.captured = captured;
    capture.api_calls.push_back(entry);
  }
  void range(uint32_t rank, int64_t start, int64_t end) {
    Range entry;
    entry.process = ProcessId{rank};
    entry.thread_id = 100 + static_cast<int32_t>(rank);
    entry.name = StringId{7};
    entry.start_ns = start + offset_of_rank[rank];
    entry.end_ns = end + offset_of_rank[rank];
    capture.ranges.push_back(entry);
  }
  void collective_call(uint32_t rank, int64_t start, int64_t end) {
    CollectiveCall entry;
    entry.process = ProcessId{rank};
    entry.thread_id = 100 + static_cast<int32_t>(rank);
    entry.communicator = 0xA0;
    entry.count = 1 << 20;
    entry.data_type = 7;
    entry.start_ns = start + offset_of_rank[rank];
    entry.end_ns = end + offset_of_rank[rank];
    capture.collective_calls.push_back(entry);
  }
  void execute(uint32_t rank, uint32_t shape, uint32_t stream, const State& state, uint32_t correlation, int64_t start,
               int64_t end) {
    Execution entry;
    entry.process = ProcessId{rank};
    entry.device = DeviceId{rank};
    entry.shape = ShapeId{shape};
    entry.context_id = 1;
    entry.stream_id = stream;
    entry.correlation_id = correlation;
    if (plan_.graph && shape != other_collective) {
      entry.graph_id = 5 + rank;
      entry.graph_node_id = 100 * (rank + 1) + state.node;
    }
    entry.start_ns = start + offset_of_rank[rank];
    entry.end_ns = end + offset_of_rank[rank];
    capture.executions.push_back(entry);
  }
  // Under stream capture nothing runs; the calls are all that names communicator and size.
  void capture_graph() {
    for (uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      int64_t at = -500'000;
      for (int layer = 0; layer < plan_.layers; ++layer) {
        for (int kernel = 0; kernel < 3; ++kernel, at += 5'000) {
          call(rank, ApiKind::launch_kernel, 0, at, at + 4'000, true);
        }
        collective_call(rank, at, at + 8'000);
        call(rank, ApiKind::launch_kernel, 0, at + 1'000, at + 5'000, true);
        at += 10'000;
      }
    }
  }
  void begin_step(uint32_t rank, int step, State& state) {
    state.node = 0;
    state.begun = state.host - 100;
    if (static_cast<int>(rank) == plan_.late_host_rank) {
      state.host += static_cast<int64_t>(noisy(static_cast<double>(plan_.sleep_ns), step));
    }
    if (plan_.graph) {
      state.graph_launch = next_correlation_++;
      call(rank, ApiKind::launch_graph, state.graph_launch, state.host, state.host + 8'000);
      state.released = state.host + 11'000;
      state.host += 9'000;
    }
  }
  // Launches a kernel; the time at which it can start.
  int64_t launch(uint32_t rank, State& state) {
    ++state.node;
    if (plan_.graph) {
      state.correlation = state.graph_launch;
      return std::max(state.device_end + 700, state.released);
    }
    state.correlation = next_correlation_++;
    call(rank, ApiKind::launch_kernel, state.correlation, state.host, state.host + 4'000);
    state.host += 5'000;
    return std::max(state.device_end + 700, state.host + 2'000);
  }
  void run_layer(uint32_t rank, int step, int layer, State& state) {
    for (uint32_t shape : {gemm, k, softmax}) {
      const int64_t start = launch(rank, state);
      double time = noisy(shape == gemm ? 100'000 : shape == k ? 80'000 : 40'000, step);
      if (shape == k && layer == plan_.slow_layer) {
        if (static_cast<int>(rank) == plan_.slow_rank && step % plan_.every == 0) {
          time += static_cast<double>(plan_.slow_ns);
        }
        if (static_cast<int>(rank) == plan_.spin_rank) {
          time += static_cast<double>(plan_.slow_ns);
          const int64_t spins_from = start + 1'000, spins_to = start + static_cast<int64_t>(time);
          const uint32_t correlation = next_correlation_++;
          call(rank, ApiKind::launch_kernel, correlation, start - 20'000, start - 16'000);
          execute(rank, other_collective, 30, state, correlation, spins_from, spins_to);
        }
      }
      state.device_end = start + static_cast<int64_t>(time);
      execute(rank, shape, 7, state, state.correlation, start, state.device_end);
    }
  }
  void reduce(int, std::vector<State>& states) {
    std::vector<int64_t> starts;
    for (uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      State& state = states[rank];
      if (!plan_.graph) {
        collective_call(rank, state.host - 500, state.host + 6'000);
      }
      starts.push_back(launch(rank, state) + (plan_.own_stream ? 2'500 : 0));
      state.host += 2'000;
    }
    const int64_t latest = *std::ranges::max_element(starts);
    for (uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      waited[rank] += static_cast<double>(latest - starts[rank]);
      states[rank].device_end = latest + transfer_ns;
      execute(rank, all_reduce, plan_.own_stream && !plan_.graph ? 20 : 7, states[rank], states[rank].correlation,
              starts[rank], states[rank].device_end);
    }
  }

  RanksPlan plan_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  uint32_t next_correlation_ = 1;
};

}  // namespace kvet::questions
