// The state of the CUDA driver stand-in in one process: what the handles that it gives out point to.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/observer.h"
#include "device/engine.h"
#include "device/shared_world.h"

#define SIMCUDA_API extern "C" __attribute__((visibility("default")))

namespace simcuda::driver {

using Result = int;  // CUresult
inline constexpr Result success = 0;
inline constexpr Result error_invalid_value = 1;
inline constexpr Result error_out_of_memory = 2;
inline constexpr Result error_not_initialized = 3;
inline constexpr Result error_invalid_device = 101;
inline constexpr Result error_no_device = 100;
inline constexpr Result error_invalid_image = 200;
inline constexpr Result error_invalid_context = 201;
inline constexpr Result error_invalid_handle = 400;
inline constexpr Result error_not_found = 500;
inline constexpr Result error_not_ready = 600;
inline constexpr Result error_launch_out_of_resources = 701;
inline constexpr Result error_stream_capture_unsupported = 900;
inline constexpr Result error_stream_capture_invalidated = 901;

// A kernel of a module: its resources and how long a block of it takes. See cuda/module.h for where these come from.
struct Function {
  std::string name;
  uint32_t registers = 32, static_shared_bytes = 0, local_bytes = 0;
  double block_ns = 2000;
  int argument_ns = -1;  // the argument, 64 bits, that is the time in nanoseconds that a block takes
  int work[2] = {-1, -1};  // the arguments whose product is how much all blocks do together
  int records = -1;  // the argument that says where blocks write their times
  int handshake = -1;  // the first of four arguments that say how to answer the host
  double read_bytes = 0, write_bytes = 0, instructions = 0;  // per block
  bool is_collective = false;  // arguments: communicator, rank, transfer time in ns (64 bits each)
};
struct Module {
  std::vector<std::unique_ptr<Function>> functions;
};

struct Graph;
struct Context;
struct StreamHandle {
  Context* context = nullptr;
  uint32_t world_index = none;
  uint32_t id = 0, flags = 0;
  int32_t priority = 0;
  Graph* capture = nullptr;  // not null: calls are added to it and execute nothing
};
struct EventHandle {
  uint32_t world_index = none;
  Graph* captured_in = nullptr;
  bool blocking = false;
};
struct Context {
  uint32_t id = 0, device = 0;
  bool blocking_sync = false;
  uint32_t primary_uses = 0;
  StreamHandle null_stream;
  std::vector<std::unique_ptr<StreamHandle>> streams;
};

struct Launch {  // one kernel launch, evaluated
  const Function* function = nullptr;
  uint32_t grid[3]{}, block[3]{}, cluster[3]{};
  uint32_t dynamic_shared_bytes = 0;
  uint32_t launch_type = 0;
  double block_ns = 0, read_bytes = 0, write_bytes = 0, instructions = 0;  // per block
  uint64_t records = 0;  // where blocks write their times; 0: nowhere
  uint64_t handshake_page = 0;  // where the host asks; 0: nowhere
  uint32_t handshake_rounds = 0;
  int64_t handshake_limit_ns = 0;
  uint64_t arguments[3]{};
};
struct Node {
  OperationKind kind = OperationKind::kernel;
  Launch launch;
  uint64_t bytes = 0;
  CopyDirection direction = CopyDirection::device_to_device;
  uint64_t cookie = 0, argument = 0;  // host functions
};
struct Graph {
  std::vector<Node> nodes;
  StreamHandle* origin = nullptr;
};
struct GraphExec {
  uint32_t id = 0;
  uint64_t first_node_id = 0;
  std::vector<Node> nodes;
};

// Objects that the client holds by address and may destroy.
template <class Object>
class Owned {
 public:
  Object* keep(std::unique_ptr<Object> object) {
    std::lock_guard guard(mutex_);
    Object* address = object.get();
    objects_[address] = std::move(object);
    return address;
  }
  bool destroy(void* address) {
    std::lock_guard guard(mutex_);
    return objects_.erase(address) == 1;
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::unique_ptr<Object>> objects_;
};

struct Driver {
  World* world = nullptr;
  uint32_t process = none;
  std::atomic<bool> initialised{false};
  bool forked = false;  // a child of a process that had initialised CUDA: CUDA does not work there
  std::recursive_mutex mutex;  // guards what follows
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<Module>> modules;
  Owned<Graph> graphs;
  Owned<GraphExec> graph_execs;
  Owned<EventHandle> events;
  std::atomic<uint32_t> next_correlation{1};
  uint32_t next_context = 1, next_stream = 13, next_graph = 1;  // stream ids start where CUPTI's do
  uint64_t next_address = 0x7f0000000000ull;
};
Driver& driver();

// Error if the driver cannot be used now: cuInit was not called, or the process is a forked child.
Result usable();
extern thread_local Context* current_context;

// The stream that a handle means in the current context; nullptr where there is none.
StreamHandle* resolve(void* stream);

// Adds work to a stream, waiting while its queue is full. `correlation` belongs to the call that asks.
Result enqueue(StreamHandle& stream, const Node& node, uint32_t correlation, uint32_t graph_id = 0,
               uint64_t graph_node_id = 0);

// Sleeps or yields until `finished` holds; looks at the world each time it may have changed.
template <class Finished>
void wait_until(Finished finished, bool blocking);

void start_host_function_thread();
// %globaltimer when CLOCK_MONOTONIC is `at_ns`.
uint64_t gpu_timer(int64_t at_ns);
// A kernel that answers the host while it runs; see cuda/handshake.cpp.
struct Handshake {
  uint64_t page = 0, rounds = 0;
  int64_t give_up_ns = 0;
};
void begin_handshake(const Handshake& handshake);
void finish_handshakes();  // waits for those that run

// The blocks of a launch write their times once it is done; see cuda/block_records.cpp.
void expect_records(uint32_t correlation, const Launch& launch);
// Before a caller learns that work is done: what it wrote is there then.
void deliver_records();
void notify_context(const Context& context);
void notify_stream(const StreamHandle& stream);
void notify_module(const Module& module);
bool observed();

// Brackets every driver call: counts its correlation id, and tells observers when it returns.
class Call {
 public:
  explicit Call(uint32_t callback_id);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  Result end(Result result) { return result_ = result; }
  uint32_t correlation() const { return correlation_; }

 private:
  uint32_t callback_id_, correlation_;
  int64_t start_ns_;
  Result result_ = success;
};

void nap(int64_t until_ns, bool blocking);

template <class Finished>
void wait_until(Finished finished, bool blocking) {
  for (;;) {
    int64_t next;
    {
      Locked world(*driver().world);
      if (finished(*world)) {
        return;
      }
      next = next_event_ns(*world);
    }
    nap(next, blocking);
  }
}

}  // namespace simcuda::driver
