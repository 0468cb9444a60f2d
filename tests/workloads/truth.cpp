#include "truth.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "cuda_api.h"

namespace workloads::truth {
namespace {

std::string directory;
std::mutex mutex;
decltype(&simcuda_collect) collect_executions = nullptr;
std::vector<std::string> rows;
std::map<int32_t, uint32_t> launches_of, collectives_of;  // by thread

template <class... Values>
std::string row(const char* kind, Values... values) {
  std::string text = kind;
  auto add = [&](const auto& value) {
    text += '\t';
    if constexpr (requires { std::to_string(value); }) {
      text += std::to_string(value);
    } else {
      text += value;
    }
  };
  (add(values), ...);
  return text;
}

void keep(std::string text) {
  if (!directory.empty()) {
    rows.push_back(std::move(text));
  }
}

// execution: correlation, kernel, grid, block, registers, stream, graph, node, start, end, serial, collective, rank, sequence
void on_execution(void*, const simcuda_execution* execution) {
  if (execution->kind != simcuda_execution::kernel) {
    return;
  }
  std::lock_guard guard(mutex);
  keep(row("execution", execution->correlation_id, execution->name, execution->grid[0], execution->block[0],
           execution->registers_per_thread, execution->stream_id, execution->graph_id, execution->graph_node_id,
           execution->start_ns, execution->end_ns, execution->serial, execution->is_collective, execution->rank,
           execution->collective_sequence));
}

}  // namespace

void begin(const std::string& where) { directory = where; }

void observe_device(decltype(&simcuda_observe) observe, decltype(&simcuda_collect) collect) {
  simcuda_observer observer{};
  observer.on_execution = on_execution;
  MUST(observe(&observer));
  collect_executions = collect;
}

void end() {
  if (directory.empty()) {
    return;
  }
  if (collect_executions != nullptr) {
    collect_executions();
  }
  std::lock_guard guard(mutex);
  std::string path = directory + "/" + std::to_string(getpid()) + ".tsv";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    std::exit(1);
  }
  for (const std::string& text : rows) {
    std::fputs(text.c_str(), file);
    std::fputc('\n', file);
  }
  if (std::fclose(file) != 0) {
    std::perror(path.c_str());
    std::exit(1);
  }
}

void process(int rank) {
  std::lock_guard guard(mutex);
  keep(row("process", getpid(), rank));
}

void launch(int64_t start_ns, int64_t end_ns, const char* entry_point, const char* kernel, uint32_t grid, int stream,
            uint32_t executions) {
  std::lock_guard guard(mutex);
  int32_t thread = thread_id();
  keep(row("launch", thread, launches_of[thread]++, start_ns, end_ns, entry_point, kernel, grid, stream, executions));
}

void captured(int64_t start_ns, int64_t end_ns) {
  std::lock_guard guard(mutex);
  keep(row("captured", thread_id(), start_ns, end_ns));
}

void sleep(int64_t start_ns, int64_t end_ns, int64_t requested_ns) {
  std::lock_guard guard(mutex);
  keep(row("sleep", thread_id(), start_ns, end_ns, requested_ns));
}

void collective(int64_t start_ns, int64_t end_ns, uint64_t elements, int rank, int step) {
  std::lock_guard guard(mutex);
  int32_t thread = thread_id();
  keep(row("collective", thread, collectives_of[thread]++, start_ns, end_ns, elements, rank, step));
}

void range(const char* name, int64_t start_ns, int64_t end_ns) {
  std::lock_guard guard(mutex);
  keep(row("range", thread_id(), name, start_ns, end_ns));
}

void late(int step, int rank, int64_t sleep_end_ns) {
  std::lock_guard guard(mutex);
  keep(row("late", step, rank, sleep_end_ns));
}

}  // namespace workloads::truth
