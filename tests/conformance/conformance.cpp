// Is the stand-in like the real thing? One program, written against the plain CUDA driver API and CUPTI's activity API, that
// runs on simcuda in CI and on a real GPU. Every check states something that CUDA documents; none a duration from above.
//
//   conformance        prints one line per check; exit 0: all hold, 1: one does not, 77: no driver or no device here
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "abi/vendor/cupti_driver_callbacks.h"
#include "activity.h"
#include "driver.h"

namespace conformance {
namespace {

// Spins until the GPU's global timer has advanced by the argument, in nanoseconds. Its resolution is up to 1 µs and more on
// some devices: a check of a duration allows for it.
constexpr const char* spin_ptx = R"(//simcuda _Z7spin_nsm registers=16 argument_ns
.version 7.0
.target sm_75
.address_size 64
.visible .entry _Z7spin_nsm(
  .param .u64 _Z7spin_nsm_param_0
)
{
  .reg .pred %p<2>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [_Z7spin_nsm_param_0];
  mov.u64 %rd2, %globaltimer;
LOOP:
  mov.u64 %rd3, %globaltimer;
  sub.u64 %rd4, %rd3, %rd2;
  setp.lt.u64 %p1, %rd4, %rd1;
  @%p1 bra LOOP;
  ret;
}
)";
constexpr const char* kernel_name = "_Z7spin_nsm";
constexpr uint64_t timer_resolution_ns = 4096;

Driver cuda;
int failures = 0, checks = 0;
bool have_activity = false;

void check(bool holds, const char* what) {
  ++checks;
  failures += holds ? 0 : 1;
  std::printf("%s %d - %s\n", holds ? "ok" : "not ok", checks, what);
}
void check_activity(bool holds, const char* what) {
  if (have_activity) {
    check(holds, what);
  }
}

uint64_t monotonic() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000ull + static_cast<uint64_t>(now.tv_nsec);
}

void* function = nullptr;
int spin(void* stream, uint64_t ns, unsigned blocks = 1, unsigned threads = 32) {
  void* arguments[] = {&ns};
  return cuda.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
}

std::vector<SeenKernel> by_start() {
  flush_activity();
  std::vector<SeenKernel> all = kernels();
  std::sort(all.begin(), all.end(), [](const SeenKernel& a, const SeenKernel& b) { return a.start < b.start; });
  return all;
}

void check_device(int device) {
  enum {
    warp_size = 10,
    multiprocessors = 16,
    max_threads_per_multiprocessor = 39,
    compute_major = 75,
    shared_per_multiprocessor = 81,
    registers_per_multiprocessor = 82,
    blocks_per_multiprocessor = 106
  };
  auto attribute = [&](int which) {
    int value = -1;
    return cuda.cuDeviceGetAttribute(&value, which, device) == 0 ? value : -1;
  };
  check(attribute(warp_size) == 32, "a warp has 32 threads");
  check(attribute(multiprocessors) > 0, "the device has multiprocessors");
  int threads = attribute(max_threads_per_multiprocessor);
  check(threads >= 1024 && threads <= 2048 && threads % 32 == 0, "1024 to 2048 threads fit on a multiprocessor");
  check(attribute(registers_per_multiprocessor) == 65536, "a multiprocessor has 65536 registers");
  check(attribute(shared_per_multiprocessor) >= 64 * 1024, "a multiprocessor has at least 64 KiB of shared memory");
  check(attribute(blocks_per_multiprocessor) >= 16, "at least 16 blocks fit on a multiprocessor");
  check(attribute(compute_major) >= 7, "compute capability 7 or later");
  unsigned char uuid[16] = {}, again[16] = {};
  check(cuda.cuDeviceGetUuid_v2(uuid, device) == 0 && cuda.cuDeviceGetUuid_v2(again, device) == 0 &&
            std::memcmp(uuid, again, 16) == 0 && std::any_of(uuid, uuid + 16, [](unsigned char b) { return b != 0; }),
        "the UUID is stable and not zero");
  int value = 0;
  check(cuda.cuDeviceGet(&value, 1000) != 0, "device 1000 does not exist");
}

void check_errors(void* module) {
  void* nothing = nullptr;
  check(cuda.cuModuleGetFunction(&nothing, module, "no_such_kernel") == 500, "a kernel that is not there is NOT_FOUND");
  uint64_t ns = 1000;
  void* arguments[] = {&ns};
  check(cuda.cuLaunchKernel(function, 0, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr) == 1,
        "an empty grid is INVALID_VALUE");
  check(cuda.cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments, nullptr) == 1,
        "a block of 2048 threads is INVALID_VALUE");
}

void check_correlation(void* stream) {
  forget_activity();
  constexpr int launches = 200;
  bool launched = true;
  for (int i = 0; i < launches; ++i) {
    launched = spin(stream, 1000) == 0 && launched;
  }
  uint64_t before_return = monotonic();
  launched = cuda.cuStreamSynchronize(stream) == 0 && launched;
  uint64_t after = monotonic();
  check(launched, "200 launches and a synchronisation succeed");
  std::vector<SeenKernel> seen = by_start();
  std::map<uint32_t, SeenCall> launch_calls;
  auto thread = static_cast<uint32_t>(syscall(SYS_gettid));
  bool thread_is_mine = true;
  uint64_t synchronize_end = 0;
  for (const SeenCall& call : calls()) {
    if (call.callback_id == KVET_CUPTI_DRIVER_cuLaunchKernel) {
      launch_calls[call.correlation_id] = call;
    } else if (call.callback_id == KVET_CUPTI_DRIVER_cuStreamSynchronize) {
      synchronize_end = call.end;
    }
    thread_is_mine = thread_is_mine && call.thread_id == thread;
  }
  check_activity(seen.size() == launches, "200 launches give 200 kernel records");
  check_activity(launch_calls.size() == launches, "200 launches give 200 driver-call records with ids of their own");
  check_activity(thread_is_mine, "driver-call records carry the system's thread id");
  check_activity(synchronize_end >= before_return && synchronize_end <= after,
                 "the synchronisation ends where it returned");
  bool joined = true, caused = true, waited = true, in_order = true, named = true, shaped = true;
  for (size_t i = 0; i < seen.size(); ++i) {
    auto call = launch_calls.find(seen[i].correlation_id);
    joined = joined && call != launch_calls.end();
    caused = caused && call != launch_calls.end() && seen[i].start >= call->second.start;
    waited = waited && seen[i].end <= after && seen[i].start < seen[i].end;
    in_order = in_order &&
               (i == 0 || (seen[i].start >= seen[i - 1].end && seen[i].correlation_id > seen[i - 1].correlation_id));
    named = named && seen[i].name == kernel_name;
    shaped =
        shaped && seen[i].grid[0] == 1 && seen[i].block[0] == 32 && seen[i].graph_node_id == 0 && seen[i].graph_id == 0;
  }
  check_activity(joined, "every kernel joins a launch by its correlation id");
  check_activity(caused, "no kernel starts before its launch call");
  check_activity(waited, "every kernel has ended when the synchronisation returns");
  check_activity(in_order, "kernels of one stream run one after the other, in the order of launch");
  check_activity(named, "kernel records carry the mangled name");
  check_activity(shaped, "kernel records carry grid and block, and no graph");
  check_activity(dropped_records() == 0, "CUPTI dropped nothing");
}

void check_duration(void* stream) {
  forget_activity();
  constexpr uint64_t asked_ns = 3'000'000;
  spin(stream, asked_ns);
  cuda.cuStreamSynchronize(stream);
  std::vector<SeenKernel> seen = by_start();
  check_activity(seen.size() == 1 && seen[0].end - seen[0].start + timer_resolution_ns >= asked_ns,
                 "a kernel that spins for 3 ms lasts 3 ms");
}

void check_streams(void* first, void* second) {
  forget_activity();
  constexpr uint64_t long_ns = 20'000'000;
  spin(first, long_ns);
  spin(second, long_ns);
  check(cuda.cuStreamQuery(first) == 600, "a stream with work is NOT_READY");
  cuda.cuCtxSynchronize();
  check(cuda.cuStreamQuery(first) == 0 && cuda.cuStreamQuery(second) == 0,
        "after cuCtxSynchronize every stream is done");
  std::vector<SeenKernel> seen = by_start();
  check_activity(seen.size() == 2 && seen[1].start < seen[0].end, "kernels of two streams overlap");
  check_activity(seen.size() == 2 && seen[0].stream_id != seen[1].stream_id, "their records name two streams");
}

void check_events(void* first, void* second) {
  forget_activity();
  void *begin = nullptr, *end = nullptr;
  cuda.cuEventCreate(&begin, 0);
  cuda.cuEventCreate(&end, 0);
  constexpr uint64_t long_ns = 5'000'000;
  cuda.cuEventRecord(begin, first);
  spin(first, long_ns);
  cuda.cuEventRecord(end, first);
  cuda.cuStreamWaitEvent(second, end, 0);
  spin(second, 1000);
  check(cuda.cuEventQuery(end) == 600, "an event behind a running kernel is NOT_READY");
  check(cuda.cuEventSynchronize(end) == 0 && cuda.cuEventQuery(end) == 0, "after cuEventSynchronize it is done");
  float milliseconds = 0;
  check(cuda.cuEventElapsedTime(&milliseconds, begin, end) == 0 && milliseconds >= 4.99f,
        "events around a kernel of 5 ms are 5 ms apart");
  cuda.cuCtxSynchronize();
  std::vector<SeenKernel> seen = by_start();
  check_activity(seen.size() == 2 && seen[1].start >= seen[0].end,
                 "a kernel behind an event waits for the other stream");
}

void check_graph(void* stream) {
  forget_activity();
  constexpr int nodes = 5, launches = 3;
  check(cuda.cuStreamBeginCapture_v2(stream, 1) == 0, "capture begins");
  for (int i = 0; i < nodes; ++i) {
    spin(stream, 20'000);
  }
  void *graph = nullptr, *executable = nullptr;
  check(cuda.cuStreamEndCapture(stream, &graph) == 0 && graph != nullptr, "capture ends with a graph");
  size_t count = 0;
  check(cuda.cuGraphGetNodes(graph, nullptr, &count) == 0 && count == nodes,
        "the graph has a node per captured launch");
  check(cuda.cuGraphInstantiateWithFlags(&executable, graph, 0) == 0, "the graph is instantiated");
  cuda.cuCtxSynchronize();
  check_activity(by_start().empty(), "captured launches execute nothing");
  for (int i = 0; i < launches; ++i) {
    cuda.cuGraphLaunch(executable, stream);
  }
  cuda.cuStreamSynchronize(stream);
  std::vector<SeenKernel> seen = by_start();
  std::map<uint64_t, int> per_node;
  std::map<uint32_t, int> per_launch;
  std::set<uint32_t> graph_ids;
  bool one_by_one = true;
  for (size_t i = 0; i < seen.size(); ++i) {
    ++per_node[seen[i].graph_node_id];
    ++per_launch[seen[i].correlation_id];
    graph_ids.insert(seen[i].graph_id);
    one_by_one = one_by_one && (i == 0 || seen[i].start >= seen[i - 1].end);
  }
  std::set<uint32_t> launch_ids;
  for (const SeenCall& call : calls()) {
    if (call.callback_id == KVET_CUPTI_DRIVER_cuGraphLaunch) {
      launch_ids.insert(call.correlation_id);
    }
  }
  check_activity(seen.size() == static_cast<size_t>(nodes) * launches, "3 launches of 5 nodes give 15 kernels");
  check_activity(per_node.size() == nodes && per_node.count(0) == 0 &&
                     std::all_of(per_node.begin(), per_node.end(), [](auto& n) { return n.second == launches; }),
                 "each node has an id of its own and ran once per launch");
  check_activity(per_launch.size() == launches &&
                     std::all_of(per_launch.begin(), per_launch.end(),
                                 [&](auto& l) { return l.second == nodes && launch_ids.count(l.first) == 1; }),
                 "kernels of a graph carry the correlation id of its launch");
  check_activity(graph_ids.size() == 1 && graph_ids.count(0) == 0, "they carry one graph id");
  check_activity(one_by_one, "nodes captured from one stream run one by one");
}

std::atomic<uint64_t> host_function_at{0};
void host_function(void*) { host_function_at = monotonic(); }

void check_host_function(void* stream) {
  forget_activity();
  spin(stream, 2'000'000);
  check(cuda.cuLaunchHostFunc(stream, host_function, nullptr) == 0, "a host function is launched");
  spin(stream, 1000);
  cuda.cuStreamSynchronize(stream);
  check(host_function_at != 0, "it has run when the stream is synchronised");
  std::vector<SeenKernel> seen = by_start();
  // The two clocks agree to a few µs.
  constexpr uint64_t clock_error_ns = 50'000;
  check_activity(seen.size() == 2 && seen[0].end <= host_function_at + clock_error_ns &&
                     host_function_at <= seen[1].start + clock_error_ns,
                 "it ran after the kernel before it and before the kernel behind it");
}

void check_other_entry_points(void* stream) {
  forget_activity();
  LaunchConfig config{};
  config.grid[0] = 2;
  config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
  config.block[0] = 64;
  config.stream = stream;
  uint64_t ns = 1000;
  void* arguments[] = {&ns};
  check(cuda.cuLaunchKernelEx(&config, function, arguments, nullptr) == 0, "cuLaunchKernelEx launches");
  check(cuda.cuLaunchCooperativeKernel(function, 3, 1, 1, 32, 1, 1, 0, stream, arguments) == 0,
        "cuLaunchCooperativeKernel launches");
  check(spin(nullptr, 1000, 4) == 0, "the null stream launches");
  cuda.cuCtxSynchronize();
  std::multiset<uint32_t> grids;
  for (const SeenKernel& kernel : by_start()) {
    grids.insert(kernel.grid[0]);
  }
  check_activity(grids == std::multiset<uint32_t>{2, 3, 4}, "each gives one kernel record with its own grid");
}

void check_transfers(void* stream) {
  forget_activity();
  constexpr size_t bytes = 1 << 20;
  void* host = nullptr;  // pinned: a pageable copy may be split
  check(cuda.cuMemAllocHost_v2(&host, bytes) == 0, "pinned host memory is there");
  uint64_t address = 0;
  check(cuda.cuMemAlloc_v2(&address, bytes) == 0 && address != 0, "device memory is there");
  bool fine = cuda.cuMemcpyHtoDAsync_v2(address, host, bytes, stream) == 0;
  fine = cuda.cuMemsetD8Async(address, 7, bytes, stream) == 0 && fine;
  fine = cuda.cuMemcpyDtoHAsync_v2(host, address, bytes / 2, stream) == 0 && fine;
  fine = cuda.cuStreamSynchronize(stream) == 0 && fine;
  check(fine, "copies and a fill succeed");
  cuda.cuMemFreeHost(host);
  flush_activity();
  std::vector<SeenTransfer> seen = transfers();
  std::sort(seen.begin(), seen.end(), [](const SeenTransfer& a, const SeenTransfer& b) { return a.start < b.start; });
  check_activity(seen.size() == 3 && seen[0].copy_kind == 1 && seen[0].bytes == bytes && seen[1].is_fill &&
                     seen[1].bytes == bytes && seen[2].copy_kind == 2 && seen[2].bytes == bytes / 2,
                 "their records name direction and bytes, in the order of the stream");
}

int run() {
  if (const char* missing = load_driver(cuda)) {
    std::printf("skipped: the driver lacks %s\n", missing);
    return 77;
  }
  if (const char* reason = start_activity()) {
    // Some releases want cuInit first.
    if (cuda.cuInit(0) != 0 || start_activity() != nullptr) {
      std::printf("# without activity records: %s\n", reason);
    } else {
      have_activity = true;
    }
  } else {
    have_activity = true;
  }
  int count = 0, device = 0;
  if (cuda.cuInit(0) != 0 || cuda.cuDeviceGetCount(&count) != 0 || count == 0) {
    std::printf("skipped: no device\n");
    return 77;
  }
  cuda.cuDeviceGet(&device, 0);
  char name[96] = {};
  cuda.cuDeviceGetName(name, sizeof name, device);
  std::printf("# device: %s\n", name);
  check_device(device);
  void *context = nullptr, *module = nullptr, *first = nullptr, *second = nullptr;
  check(cuda.cuDevicePrimaryCtxRetain(&context, device) == 0 && cuda.cuCtxSetCurrent(context) == 0, "a context");
  check(cuda.cuModuleLoadData(&module, spin_ptx) == 0, "PTX text loads");
  check(cuda.cuModuleGetFunction(&function, module, kernel_name) == 0, "its kernel is found by name");
  int registers = 0;
  check(cuda.cuFuncGetAttribute(&registers, 4, function) == 0 && registers > 0, "the kernel uses registers");
  constexpr unsigned non_blocking = 1;
  check(cuda.cuStreamCreate(&first, non_blocking) == 0 && cuda.cuStreamCreate(&second, non_blocking) == 0,
        "two streams");
  if (failures > 0) {
    return 1;
  }
  spin(first, 1000);  // the first launch may load code: not measured
  cuda.cuCtxSynchronize();
  check_errors(module);
  check_correlation(first);
  check_duration(first);
  check_streams(first, second);
  check_events(first, second);
  check_graph(first);
  check_host_function(first);
  check_other_entry_points(first);
  check_transfers(first);
  std::printf("1..%d\n", checks);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace conformance

int main() { return conformance::run(); }
