#include "probes/launch/decode.h"

#include <optional>

#include "probes/kernel/event.h"

namespace kvet::probes {

namespace {

std::optional<ApiKind> api_kind(uint32_t entry_point) {
  switch (static_cast<kvet_api_kind>(entry_point)) {
    case KVET_API_LAUNCH_KERNEL: return ApiKind::launch_kernel;
    case KVET_API_LAUNCH_COOPERATIVE: return ApiKind::launch_cooperative;
    case KVET_API_LAUNCH_GRAPH: return ApiKind::launch_graph;
    case KVET_API_LAUNCH_HOST_FUNCTION: return ApiKind::launch_host_function;
    case KVET_API_SYNCHRONIZE_STREAM: return ApiKind::synchronize_stream;
    case KVET_API_SYNCHRONIZE_CONTEXT: return ApiKind::synchronize_context;
    case KVET_API_SYNCHRONIZE_EVENT: return ApiKind::synchronize_event;
    case KVET_API_SYNCHRONIZE_COPY: return ApiKind::synchronize_copy;
    case KVET_API_COPY_ASYNC: return ApiKind::copy_async;
    case KVET_API_WAIT_FOR_QUEUE:                       // no entry point
    case KVET_API_CAPTURE_BEGIN:                        // followed, not recorded
    case KVET_API_CAPTURE_END: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void LaunchDecoder::decode(std::span<const std::byte> bytes) {
  const auto event = take_event<kvet_event_launch>(bytes, KVET_EVENT_LAUNCH);
  const auto kind = event ? api_kind(event->entry_point) : std::nullopt;
  if (!kind || event->return_ns < event->header.time_ns) {
    ++rejected_;
    return;
  }
  ApiCall call;
  call.start_ns = static_cast<int64_t>(event->header.time_ns);
  call.end_ns = static_cast<int64_t>(event->return_ns);
  call.process = processes_.at(static_cast<int32_t>(event->header.process_id), call.start_ns);
  call.thread_id = static_cast<int32_t>(event->header.thread_id);
  call.kind = *kind;
  call.source = Source::uprobe;
  call.result = event->result;
  call.stream_handle = event->stream;
  call.captured = event->captured != 0;
  sink_.on(call);
  ++decoded_;
}

}  // namespace kvet::probes
