// Stream capture and graphs. A graph is the list of what was captured, in that order, which satisfies every dependency; a
// launch runs its nodes one by one.
#include "abi/vendor/cupti_driver_callbacks.h"
#include "cuda/driver.h"

namespace simcuda::driver {
namespace {

Result begin_capture(void* handle) {
  if (Result state = usable(); state != success) {
    return state;
  }
  // The null stream cannot be captured, as with the real driver.
  StreamHandle* stream = resolve(handle);
  if (stream == nullptr || stream == &stream->context->null_stream || stream->capture != nullptr) {
    return error_stream_capture_unsupported;
  }
  stream->capture = driver().graphs.keep(std::make_unique<Graph>());
  stream->capture->origin = stream;
  return success;
}

Result end_capture(void* handle, void** graph) {
  if (Result state = usable(); state != success) {
    return state;
  }
  StreamHandle* stream = resolve(handle);
  if (stream == nullptr || graph == nullptr || stream->capture == nullptr || stream->capture->origin != stream) {
    return error_stream_capture_invalidated;
  }
  Graph* captured = stream->capture;
  std::lock_guard guard(driver().mutex);
  for (const auto& other : stream->context->streams) {
    if (other->capture == captured) {
      other->capture = nullptr;
    }
  }
  *graph = captured;
  return success;
}

Result instantiate(void** handle, void* graph) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (handle == nullptr || graph == nullptr) {
    return error_invalid_value;
  }
  auto made = std::make_unique<GraphExec>();
  made->nodes = static_cast<Graph*>(graph)->nodes;
  std::lock_guard guard(driver().mutex);
  made->id = driver().next_graph++;
  Locked world(*driver().world);
  made->first_node_id = world->next_graph_node_id + 1;
  world->next_graph_node_id += made->nodes.size();
  *handle = driver().graph_execs.keep(std::move(made));
  return success;
}

Result launch_graph(Call& call, void* handle, void* stream_handle) {
  if (Result state = usable(); state != success) {
    return state;
  }
  StreamHandle* stream = resolve(stream_handle);
  if (stream == nullptr || handle == nullptr) {
    return stream == nullptr ? error_invalid_context : error_invalid_handle;
  }
  if (stream->capture != nullptr) {
    return error_stream_capture_unsupported;
  }
  const auto& graph = *static_cast<GraphExec*>(handle);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Result submitted = enqueue(*stream, graph.nodes[i], call.correlation(), graph.id, graph.first_node_id + i);
    if (submitted != success) {
      return submitted;
    }
  }
  return success;
}

}  // namespace

SIMCUDA_API int cuStreamBeginCapture_v2(void* stream, int) {
  Call call(KVET_CUPTI_DRIVER_cuStreamBeginCapture_v2);
  return call.end(begin_capture(stream));
}
SIMCUDA_API int cuStreamEndCapture(void* stream, void** graph) {
  Call call(KVET_CUPTI_DRIVER_cuStreamEndCapture);
  return call.end(end_capture(stream, graph));
}
SIMCUDA_API int cuStreamIsCapturing(void* handle, int* status) {
  if (Result state = usable(); state != success) {
    return state;
  }
  StreamHandle* stream = resolve(handle);
  if (stream == nullptr || status == nullptr) {
    return stream == nullptr ? error_invalid_context : error_invalid_value;
  }
  *status = stream->capture != nullptr ? 1 : 0;  // CU_STREAM_CAPTURE_STATUS_ACTIVE
  return success;
}

SIMCUDA_API int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return instantiate(exec, graph);
}
SIMCUDA_API int cuGraphInstantiate_v2(void** exec, void* graph, void**, char*, size_t) {
  return instantiate(exec, graph);
}

SIMCUDA_API int cuGraphGetNodes(void* graph, void** nodes, size_t* count) {
  if (graph == nullptr || count == nullptr) {
    return error_invalid_value;
  }
  auto& known = static_cast<Graph*>(graph)->nodes;
  if (nodes != nullptr) {
    for (size_t i = 0; i < *count && i < known.size(); ++i) {
      nodes[i] = &known[i];
    }
  }
  *count = known.size();
  return success;
}

SIMCUDA_API int cuGraphLaunch(void* exec, void* stream) {
  Call call(KVET_CUPTI_DRIVER_cuGraphLaunch);
  return call.end(launch_graph(call, exec, stream));
}

SIMCUDA_API int cuGraphDestroy(void* graph) { return driver().graphs.destroy(graph) ? success : error_invalid_value; }
SIMCUDA_API int cuGraphExecDestroy(void* exec) {
  return driver().graph_execs.destroy(exec) ? success : error_invalid_value;
}

}  // namespace simcuda::driver
