// Streams, events and the calls that wait.
#include "abi/vendor/cupti_driver_callbacks.h"
#include "cuda/driver.h"

namespace simcuda::driver {
namespace {

Result make_stream(void** stream, uint32_t flags, int32_t priority) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (current_context == nullptr) {
    return error_invalid_context;
  }
  Driver& self = driver();
  std::lock_guard guard(self.mutex);
  auto made = std::make_unique<StreamHandle>();
  made->context = current_context;
  made->id = self.next_stream++;
  made->flags = (flags & 1) != 0 ? 2 : 1;  // CU_STREAM_NON_BLOCKING; CUpti_ActivityStreamFlag
  made->priority = priority;
  {
    Locked world(*self.world);
    Stream wanted{};
    wanted.process = self.process;
    wanted.device = current_context->device;
    wanted.id = made->id;
    wanted.context_id = current_context->id;
    wanted.priority = priority;
    made->world_index = create_stream(*world, wanted);
  }
  if (made->world_index == none) {
    return error_out_of_memory;
  }
  *stream = made.get();
  current_context->streams.push_back(std::move(made));
  notify_stream(*current_context->streams.back());
  return success;
}

bool is_done(const World& world, const StreamHandle& stream) { return world.streams[stream.world_index].head == none; }

Result synchronize_stream(void* handle) {
  if (Result state = usable(); state != success) {
    return state;
  }
  StreamHandle* stream = resolve(handle);
  if (stream == nullptr) {
    return error_invalid_context;
  }
  if (stream->capture != nullptr) {
    return error_stream_capture_unsupported;
  }
  uint64_t wanted;
  {
    Locked world(*driver().world);
    wanted = world->streams[stream->world_index].submitted;
  }
  wait_until([&](const World& world) { return world.streams[stream->world_index].completed >= wanted; },
             current_context->blocking_sync);
  deliver_records();
  return success;
}

Result synchronize_context() {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (current_context == nullptr) {
    return error_invalid_context;
  }
  Context& context = *current_context;
  wait_until(
      [&](const World& world) {
        bool done = is_done(world, context.null_stream);
        std::lock_guard guard(driver().mutex);
        for (const auto& stream : context.streams) {
          done = done && is_done(world, *stream);
        }
        return done;
      },
      context.blocking_sync);
  deliver_records();
  return success;
}

}  // namespace

SIMCUDA_API int cuStreamCreate(void** stream, unsigned flags) { return make_stream(stream, flags, 0); }
SIMCUDA_API int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return make_stream(stream, flags, priority);
}
SIMCUDA_API int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return success;
}
// The stream's queue still drains; its slot is freed with the process.
SIMCUDA_API int cuStreamDestroy_v2(void*) { return usable(); }

SIMCUDA_API int cuStreamSynchronize(void* handle) {
  Call call(KVET_CUPTI_DRIVER_cuStreamSynchronize);
  return call.end(synchronize_stream(handle));
}
SIMCUDA_API int cuCtxSynchronize() {
  Call call(KVET_CUPTI_DRIVER_cuCtxSynchronize);
  return call.end(synchronize_context());
}

SIMCUDA_API int cuStreamQuery(void* handle) {
  if (Result state = usable(); state != success) {
    return state;
  }
  StreamHandle* stream = resolve(handle);
  if (stream == nullptr) {
    return error_invalid_context;
  }
  {
    Locked world(*driver().world);
    if (!is_done(*world, *stream)) {
      return error_not_ready;
    }
  }
  deliver_records();
  return success;
}

SIMCUDA_API int cuEventCreate(void** event, unsigned flags) {
  if (Result state = usable(); state != success) {
    return state;
  }
  auto made = std::make_unique<EventHandle>();
  made->blocking = (flags & 1) != 0;  // CU_EVENT_BLOCKING_SYNC
  Locked world(*driver().world);
  for (uint32_t i = 0; i < max_events; ++i) {
    if (world->events[i].used == 0) {
      world->events[i] = Event{.used = 1, .process = driver().process, .issued = 0, .completed = 0, .time_ns = 0};
      world->event_limit = std::max(world->event_limit, i + 1);
      made->world_index = i;
      *event = driver().events.keep(std::move(made));
      return success;
    }
  }
  return error_out_of_memory;
}

SIMCUDA_API int cuEventDestroy_v2(void* handle) {
  if (handle == nullptr) {
    return error_invalid_handle;
  }
  {
    Locked world(*driver().world);
    Event& slot = world->events[static_cast<EventHandle*>(handle)->world_index];
    if (slot.issued == slot.completed) {  // else somebody may still refer to it: the slot stays until the process ends
      slot.used = 0;
    }
  }
  driver().events.destroy(handle);
  return success;
}

SIMCUDA_API int cuEventRecord(void* handle, void* stream_handle) {
  if (Result state = usable(); state != success) {
    return state;
  }
  StreamHandle* stream = resolve(stream_handle);
  auto* event = static_cast<EventHandle*>(handle);
  if (stream == nullptr || event == nullptr) {
    return stream == nullptr ? error_invalid_context : error_invalid_handle;
  }
  event->captured_in = stream->capture;
  if (stream->capture != nullptr) {
    return success;  // nodes run one by one in the order of capture: the edge is there already
  }
  Locked world(*driver().world);
  uint32_t index = allocate_operation(*world);
  if (index == none) {
    return error_out_of_memory;
  }
  Operation& operation = world->operations[index];
  operation.kind = OperationKind::event_record;
  operation.stream = stream->world_index;
  operation.event = event->world_index;
  operation.event_sequence = ++world->events[event->world_index].issued;
  submit(*world, index);
  return success;
}

SIMCUDA_API int cuStreamWaitEvent(void* stream_handle, void* handle, unsigned) {
  if (Result state = usable(); state != success) {
    return state;
  }
  StreamHandle* stream = resolve(stream_handle);
  auto* event = static_cast<EventHandle*>(handle);
  if (stream == nullptr || event == nullptr) {
    return stream == nullptr ? error_invalid_context : error_invalid_handle;
  }
  if (event->captured_in != nullptr) {
    stream->capture = event->captured_in;  // the stream joins the capture
    return success;
  }
  Locked world(*driver().world);
  uint32_t index = allocate_operation(*world);
  if (index == none) {
    return error_out_of_memory;
  }
  Operation& operation = world->operations[index];
  operation.kind = OperationKind::event_wait;
  operation.stream = stream->world_index;
  operation.event = event->world_index;
  operation.event_sequence = world->events[event->world_index].issued;
  submit(*world, index);
  return success;
}

SIMCUDA_API int cuEventSynchronize(void* handle) {
  Call call(KVET_CUPTI_DRIVER_cuEventSynchronize);
  if (Result state = usable(); state != success) {
    return call.end(state);
  }
  auto* event = static_cast<EventHandle*>(handle);
  if (event == nullptr) {
    return call.end(error_invalid_handle);
  }
  uint64_t wanted;
  {
    Locked world(*driver().world);
    wanted = world->events[event->world_index].issued;
  }
  wait_until([&](const World& world) { return world.events[event->world_index].completed >= wanted; }, event->blocking);
  return call.end(success);
}

SIMCUDA_API int cuEventQuery(void* handle) {
  if (Result state = usable(); state != success) {
    return state;
  }
  Locked world(*driver().world);
  const Event& event = world->events[static_cast<EventHandle*>(handle)->world_index];
  return event.completed >= event.issued ? success : error_not_ready;
}

SIMCUDA_API int cuEventElapsedTime_v2(float* milliseconds, void* start, void* end) {
  if (Result state = usable(); state != success) {
    return state;
  }
  Locked world(*driver().world);
  const Event& from = world->events[static_cast<EventHandle*>(start)->world_index];
  const Event& to = world->events[static_cast<EventHandle*>(end)->world_index];
  if (from.completed < from.issued || to.completed < to.issued) {
    return error_not_ready;
  }
  *milliseconds = static_cast<float>(to.time_ns - from.time_ns) / 1e6f;
  return success;
}
SIMCUDA_API int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // namespace simcuda::driver
