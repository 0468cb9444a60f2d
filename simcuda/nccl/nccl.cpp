// The NCCL stand-in: collectives of all ranks of a communicator. A call launches a kernel of NCCL's name through
// cuLaunchKernelEx, as the real library does; on the model it spins from its own start until the last rank has started, and all
// end together one transfer later. Data is not moved. Send and receive are not there.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "abi/vendor/cuda_driver.h"
#include "cuda/observer.h"
#include "device/engine.h"
#include "device/shared_world.h"

#define SIMCUDA_API extern "C" __attribute__((visibility("default")))

extern "C" {
int cuModuleLoadData(void**, const void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuLaunchKernelEx(const kvet_cuda_launch_config*, void*, void**, void**);
int cuCtxGetDevice(int*);
}

namespace simcuda::nccl {
namespace {

enum Result {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5
};

struct UniqueId {
  uint8_t bytes[128];
};

// An 8-GPU H200 host: NVLink moves about 450 bytes per nanosecond and direction; small collectives take about 10 µs.
constexpr double link_bytes_per_ns = 450;
constexpr double base_ns = 10'000;
constexpr uint32_t blocks = 16, threads = 512;

const char* const module_text =
    "//simcuda _Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE registers=96 collective\n"
    "//simcuda _Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE registers=96 collective\n"
    "//simcuda _Z43ncclDevKernel_ReduceScatter_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE registers=96 "
    "collective\n"
    "//simcuda _Z31ncclDevKernel_Broadcast_RING_LL24ncclDevKernelArgsStorageILm4096EE registers=96 collective\n"
    "//simcuda _Z36ncclDevKernel_Reduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE registers=96 collective\n"
    "//simcuda _Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE registers=96 collective\n";
const char* const all_reduce_kernel = "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";
const char* const all_gather_kernel = "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE";
const char* const reduce_scatter_kernel =
    "_Z43ncclDevKernel_ReduceScatter_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";
const char* const broadcast_kernel = "_Z31ncclDevKernel_Broadcast_RING_LL24ncclDevKernelArgsStorageILm4096EE";
const char* const reduce_kernel = "_Z36ncclDevKernel_Reduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";
const char* const all_to_all_kernel = "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE";

struct Comm {
  uint32_t slot = none;
  int rank = 0, ranks = 0;
  int device = 0;
  void* module = nullptr;
};

struct Waiting {  // an operation inside ncclGroupStart and ncclGroupEnd
  Comm* comm;
  const char* kernel;
  double bytes;
  void* stream;
};
thread_local int group_depth = 0;
thread_local std::vector<Waiting> group;

uint32_t element_bytes(int type) {
  constexpr uint32_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};  // ncclDataType_t
  return type >= 0 && type < static_cast<int>(std::size(sizes)) ? sizes[type] : 0;
}

Result launch(const Waiting& operation) {
  void* function = nullptr;
  if (cuModuleGetFunction(&function, operation.comm->module, operation.kernel) != 0) {
    return unhandled_cuda_error;
  }
  uint64_t communicator = operation.comm->slot;
  auto rank = static_cast<uint64_t>(operation.comm->rank);
  auto transfer_ns = static_cast<uint64_t>(base_ns + operation.bytes / link_bytes_per_ns);
  void* arguments[] = {&communicator, &rank, &transfer_ns};
  kvet_cuda_launch_attribute cluster{};
  cluster.id = KVET_CUDA_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.cluster[0] = 4;
  cluster.value.cluster[1] = cluster.value.cluster[2] = 1;
  kvet_cuda_launch_config config{};
  config.grid[0] = blocks;
  config.block[0] = threads;
  config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
  config.stream = reinterpret_cast<uint64_t>(operation.stream);
  config.attributes = reinterpret_cast<uint64_t>(&cluster);
  config.attribute_count = 1;
  return cuLaunchKernelEx(&config, function, arguments, nullptr) == 0 ? success : unhandled_cuda_error;
}

// `factor`: bytes on the busiest link for each byte of the buffer, for a ring of n ranks.
Result collective(Comm* comm, const char* kernel, size_t count, int type, double factor, void* stream) {
  uint32_t size = element_bytes(type);
  if (comm == nullptr || size == 0) {
    return invalid_argument;
  }
  Waiting operation{comm, kernel, static_cast<double>(count) * size * factor, stream};
  if (group_depth > 0) {
    group.push_back(operation);
    return success;
  }
  return launch(operation);
}

double around(const Comm* comm) { return comm == nullptr ? 0 : static_cast<double>(comm->ranks - 1) / comm->ranks; }

World* machine() { return static_cast<World*>(simcuda_machine()); }

// The communicator's place in the machine: the first rank makes it, the others find it by the id.
uint32_t join(World& world, const UniqueId& id, uint32_t ranks) {
  Locked locked(world);
  uint32_t free_slot = none;
  for (uint32_t i = 0; i < max_communicators; ++i) {
    Communicator& known = world.communicators[i];
    if (known.used != 0 && std::memcmp(known.id, id.bytes, sizeof known.id) == 0) {
      if (known.ranks != ranks || known.joined == ranks) {
        return none;
      }
      ++known.joined;
      return i;
    }
    if (known.used == 0 && free_slot == none) {
      free_slot = i;
    }
  }
  if (free_slot != none) {
    Communicator& made = world.communicators[free_slot];
    made = Communicator{};
    made.used = 1;
    std::memcpy(made.id, id.bytes, sizeof made.id);
    made.ranks = ranks;
    made.joined = 1;
  }
  return free_slot;
}

// False: a rank did not come; most often because the ranks do not share a machine ($KVET_SIMCUDA_DEVICE).
bool wait_for_ranks(World& world, uint32_t slot) {
  constexpr int64_t patience_ns = 20'000'000'000;
  for (int64_t deadline = monotonic_ns() + patience_ns;;) {
    {
      Locked locked(world);
      if (world.communicators[slot].joined == world.communicators[slot].ranks) {
        return true;
      }
    }
    if (monotonic_ns() > deadline) {
      return false;
    }
    timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
}

}  // namespace

SIMCUDA_API int ncclGetVersion(int* version) {
  *version = 22809;
  return success;
}
SIMCUDA_API const char* ncclGetErrorString(int result) {
  return result == success ? "no error" : "an error of the stand-in";
}
SIMCUDA_API const char* ncclGetLastError(void*) { return ""; }

SIMCUDA_API int ncclGetUniqueId(UniqueId* id) {
  int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  ssize_t got = random < 0 ? -1 : read(random, id->bytes, sizeof id->bytes);
  if (random >= 0) {
    close(random);
  }
  return got == static_cast<ssize_t>(sizeof id->bytes) ? success : system_error;
}

SIMCUDA_API int ncclCommInitRank(Comm** comm, int ranks, UniqueId id, int rank) {
  World* world = machine();
  if (comm == nullptr || world == nullptr || ranks < 1 || rank < 0 || rank >= ranks ||
      ranks > static_cast<int>(max_ranks)) {
    return invalid_argument;
  }
  auto made = std::make_unique<Comm>();
  made->rank = rank;
  made->ranks = ranks;
  if (cuCtxGetDevice(&made->device) != 0 || cuModuleLoadData(&made->module, module_text) != 0) {
    return unhandled_cuda_error;
  }
  made->slot = join(*world, id, static_cast<uint32_t>(ranks));
  if (made->slot == none) {
    return invalid_usage;
  }
  if (!wait_for_ranks(*world, made->slot)) {
    return system_error;
  }
  *comm = made.release();
  return success;
}
SIMCUDA_API int ncclCommInitRankConfig(Comm** comm, int ranks, UniqueId id, int rank, void*) {
  return ncclCommInitRank(comm, ranks, id, rank);
}

SIMCUDA_API int ncclCommDestroy(Comm* comm) {
  if (comm == nullptr) {
    return invalid_argument;
  }
  std::unique_ptr<Comm> owned(comm);
  Locked world(*machine());
  Communicator& slot = world->communicators[comm->slot];
  if (++slot.left == slot.ranks) {
    slot.used = 0;
  }
  return success;
}
SIMCUDA_API int ncclCommFinalize(Comm*) { return success; }
SIMCUDA_API int ncclCommAbort(Comm* comm) { return ncclCommDestroy(comm); }
SIMCUDA_API int ncclCommGetAsyncError(Comm*, int* error) {
  *error = success;
  return success;
}
SIMCUDA_API int ncclCommCount(const Comm* comm, int* count) {
  *count = comm->ranks;
  return success;
}
SIMCUDA_API int ncclCommUserRank(const Comm* comm, int* rank) {
  *rank = comm->rank;
  return success;
}
SIMCUDA_API int ncclCommCuDevice(const Comm* comm, int* device) {
  *device = comm->device;
  return success;
}

SIMCUDA_API int ncclGroupStart() {
  ++group_depth;
  return success;
}
SIMCUDA_API int ncclGroupEnd() {
  if (group_depth == 0) {
    return invalid_usage;
  }
  Result result = success;
  if (--group_depth == 0) {
    for (const Waiting& operation : group) {
      Result launched = launch(operation);
      result = result == success ? launched : result;
    }
    group.clear();
  }
  return result;
}

SIMCUDA_API int ncclAllReduce(const void*, void*, size_t count, int type, int, Comm* comm, void* stream) {
  return collective(comm, all_reduce_kernel, count, type, 2 * around(comm), stream);
}
SIMCUDA_API int ncclAllGather(const void*, void*, size_t count, int type, Comm* comm, void* stream) {
  return collective(comm, all_gather_kernel, count, type, comm == nullptr ? 0 : comm->ranks - 1, stream);
}
SIMCUDA_API int ncclReduceScatter(const void*, void*, size_t count, int type, int, Comm* comm, void* stream) {
  return collective(comm, reduce_scatter_kernel, count, type, comm == nullptr ? 0 : comm->ranks - 1, stream);
}
SIMCUDA_API int ncclBroadcast(const void*, void*, size_t count, int type, int, Comm* comm, void* stream) {
  return collective(comm, broadcast_kernel, count, type, 1, stream);
}
SIMCUDA_API int ncclBcast(void*, size_t count, int type, int, Comm* comm, void* stream) {
  return collective(comm, broadcast_kernel, count, type, 1, stream);
}
SIMCUDA_API int ncclReduce(const void*, void*, size_t count, int type, int, int, Comm* comm, void* stream) {
  return collective(comm, reduce_kernel, count, type, 1, stream);
}
SIMCUDA_API int ncclAlltoAll(const void*, void*, size_t count, int type, Comm* comm, void* stream) {
  return collective(comm, all_to_all_kernel, count, type, comm == nullptr ? 0 : comm->ranks - 1, stream);
}

}  // namespace simcuda::nccl
