// Tells observers (the CUPTI stand-in, workloads) what was called and what has run.
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>

#include "cuda/cubin.h"
#include "cuda/driver.h"

namespace simcuda::driver {
namespace {

constexpr uint32_t max_observers = 4;
std::array<simcuda_observer, max_observers> observers;
std::atomic<uint32_t> observer_count{0};
std::mutex collecting;

uint32_t thread_id() {
  static thread_local auto id = static_cast<uint32_t>(syscall(SYS_gettid));
  return id;
}

template <class Tell>
void tell(Tell tell_one) {
  uint32_t count = observer_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    tell_one(observers[i]);
  }
}

uint32_t copy_kind(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::host_to_device: return 1;  // CUpti_ActivityMemcpyKind
    case CopyDirection::device_to_host: return 2;
    case CopyDirection::device_to_device: return 8;
  }
  return 0;
}

simcuda_execution describe(const World& world, const Operation& operation) {
  simcuda_execution told{};
  told.kind = operation.kind == OperationKind::kernel ? simcuda_execution::kernel
              : operation.kind == OperationKind::copy ? simcuda_execution::copy
                                                      : simcuda_execution::fill;
  told.device = operation.device;
  told.context_id = world.streams[operation.stream].context_id;
  told.stream_id = world.streams[operation.stream].id;
  told.correlation_id = operation.correlation_id;
  told.graph_id = operation.graph_id;
  told.graph_node_id = operation.graph_node_id;
  told.submitted_ns = operation.submitted_ns;
  told.start_ns = operation.start_ns;
  told.end_ns = operation.end_ns;
  told.serial = operation.serial;
  told.dynamic_shared_bytes = operation.dynamic_shared_bytes;
  for (int i = 0; i < 3; ++i) {
    told.grid[i] = operation.grid[i];
    told.block[i] = operation.block[i];
    told.cluster[i] = operation.cluster[i];
  }
  told.launch_type = operation.launch_type;
  told.bytes = operation.bytes;
  told.copy_kind = copy_kind(operation.direction);
  told.is_collective = operation.is_collective;
  told.collective_sequence = operation.collective_sequence;
  told.latest_arrival_ns = operation.latest_arrival_ns;
  told.communicator = operation.communicator;
  told.rank = operation.rank;
  if (operation.kind == OperationKind::kernel) {
    const auto* function = std::bit_cast<const Function*>(operation.cookie);
    told.name = function->name.c_str();
    told.registers_per_thread = function->registers;
    told.static_shared_bytes = function->static_shared_bytes;
    told.local_bytes = function->local_bytes;
  }
  return told;
}

}  // namespace

bool observed() { return observer_count.load(std::memory_order_acquire) > 0; }

void notify_context(const Context& context) {
  tell([&](const simcuda_observer& observer) {
    if (observer.on_context != nullptr) {
      observer.on_context(observer.user, context.id, context.device, context.null_stream.id);
    }
  });
}

void notify_stream(const StreamHandle& stream) {
  simcuda_stream told{stream.context->id, stream.id, stream.context->device, stream.priority, stream.flags};
  tell([&](const simcuda_observer& observer) {
    if (observer.on_stream != nullptr) {
      observer.on_stream(observer.user, &told);
    }
  });
}

void notify_module(const Module& module) {
  if (!observed()) {
    return;
  }
  std::vector<unsigned char> image = make_cubin(module);
  tell([&](const simcuda_observer& observer) {
    if (observer.on_module != nullptr) {
      observer.on_module(observer.user, image.data(), image.size());
    }
  });
}

Call::Call(uint32_t callback_id)
    : callback_id_(callback_id),
      correlation_(driver().next_correlation.fetch_add(1, std::memory_order_relaxed)),
      start_ns_(monotonic_ns()) {}

Call::~Call() {
  if (!observed()) {
    return;
  }
  simcuda_call told{callback_id_, correlation_, thread_id(), result_, start_ns_, monotonic_ns()};
  tell([&](const simcuda_observer& observer) {
    if (observer.on_call != nullptr) {
      observer.on_call(observer.user, &told);
    }
  });
}

SIMCUDA_API int simcuda_observe(const simcuda_observer* observer) {
  Driver& self = driver();
  std::lock_guard guard(self.mutex);
  uint32_t count = observer_count.load();
  if (observer == nullptr || count == max_observers) {
    return error_invalid_value;
  }
  if (self.world != nullptr) {  // else cuInit, which has not happened yet, asks for completions
    Locked world(*self.world);
    world->processes[self.process].wants_completions = 1;
  }
  observers[count] = *observer;
  observer_count.store(count + 1, std::memory_order_release);
  for (const auto& context : self.contexts) {
    notify_context(*context);
    for (const auto& stream : context->streams) {
      notify_stream(*stream);
    }
  }
  return success;
}

SIMCUDA_API void simcuda_collect() {
  Driver& self = driver();
  if (!self.initialised || self.forked || !observed()) {
    return;
  }
  std::lock_guard guard(collecting);  // keeps the order in which operations ended
  std::vector<simcuda_execution> told;
  constexpr size_t batch = 4096;
  do {
    told.clear();
    {
      Locked world(*self.world);
      Process& process = world->processes[self.process];
      while (process.done_head != none && told.size() < batch) {
        uint32_t index = process.done_head;
        const Operation& operation = world->operations[index];
        process.done_head = operation.next;
        told.push_back(describe(*world, operation));
        free_operation(*world, index);
      }
    }
    for (const simcuda_execution& execution : told) {
      tell([&](const simcuda_observer& observer) {
        if (observer.on_execution != nullptr) {
          observer.on_execution(observer.user, &execution);
        }
      });
    }
  } while (told.size() == batch);
}

SIMCUDA_API uint32_t simcuda_context_id(void* context) { return static_cast<Context*>(context)->id; }
SIMCUDA_API uint32_t simcuda_stream_id(void* stream) {
  StreamHandle* handle = resolve(stream);
  return handle == nullptr ? 0 : handle->id;
}
SIMCUDA_API void* simcuda_machine() { return driver().world; }
SIMCUDA_API uint32_t simcuda_process() { return driver().process; }

}  // namespace simcuda::driver
