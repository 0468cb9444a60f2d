// Launch entry points: what a real launch asks for becomes an operation of the model, or a node of the graph being captured.
#include <algorithm>
#include <bit>
#include <cstring>

#include "abi/vendor/cuda_driver.h"
#include "abi/vendor/cupti_driver_callbacks.h"
#include "cuda/driver.h"

namespace simcuda::driver {
namespace {

void fill_in(Operation& operation, const Node& node) {
  operation.kind = node.kind;
  operation.bytes = node.bytes;
  operation.direction = node.direction;
  operation.cookie = node.cookie;
  operation.argument = node.argument;
  if (node.kind != OperationKind::kernel) {
    return;
  }
  const Launch& launch = node.launch;
  const Function& function = *launch.function;
  operation.cookie = reinterpret_cast<uint64_t>(&function);
  std::copy(launch.grid, launch.grid + 3, operation.grid);
  std::copy(launch.block, launch.block + 3, operation.block);
  std::copy(launch.cluster, launch.cluster + 3, operation.cluster);
  operation.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  operation.launch_type = launch.launch_type;
  uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  operation.cost =
      block_resources(threads, function.registers, function.static_shared_bytes, launch.dynamic_shared_bytes);
  operation.cost.duration_ns = launch.block_ns;
  operation.cost.read_bytes = launch.read_bytes;
  operation.cost.write_bytes = launch.write_bytes;
  operation.cost.instructions = launch.instructions;
  operation.blocks_total = static_cast<uint64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (function.is_collective) {
    operation.is_collective = 1;
    operation.communicator = static_cast<uint32_t>(launch.arguments[0] % max_communicators);
    operation.rank = static_cast<uint32_t>(launch.arguments[1] % max_ranks);
    operation.transfer_ns = static_cast<int64_t>(launch.arguments[2]);
  }
}

uint64_t wide_argument(void** arguments, int number) {
  uint64_t value = 0;
  std::memcpy(&value, arguments[number], sizeof value);
  return value;
}

// What a block costs, where arguments decide.
void evaluate_arguments(const Function& function, void** arguments, Launch& launch) {
  if (function.argument_ns >= 0) {
    launch.block_ns = static_cast<double>(wide_argument(arguments, function.argument_ns));
  }
  if (function.work[0] >= 0) {
    double work = static_cast<double>(wide_argument(arguments, function.work[0]));
    if (function.work[1] >= 0) {
      work *= static_cast<double>(wide_argument(arguments, function.work[1]));
    }
    double per_block = work / (static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2]);
    launch.block_ns *= per_block;
    launch.read_bytes *= per_block;
    launch.write_bytes *= per_block;
    launch.instructions *= per_block;
  }
  if (function.records >= 0) {
    launch.records = wide_argument(arguments, function.records);
  }
  if (function.handshake >= 0) {
    launch.handshake_page = wide_argument(arguments, function.handshake);
    std::memcpy(&launch.handshake_rounds, arguments[function.handshake + 1], sizeof launch.handshake_rounds);
    launch.handshake_limit_ns = static_cast<int64_t>(wide_argument(arguments, function.handshake + 3));
  }
  for (int i = 0; function.is_collective && i < 3; ++i) {
    launch.arguments[i] = wide_argument(arguments, i);
  }
}

// Checks and evaluates a launch. Arguments are read now, as the real driver does: the caller may reuse their memory.
Result evaluate(void* function_handle, const uint32_t (&grid)[3], const uint32_t (&block)[3], uint32_t dynamic_shared,
                void** arguments, Launch& launch) {
  if (function_handle == nullptr) {
    return error_invalid_handle;
  }
  const auto& function = *static_cast<Function*>(function_handle);
  uint64_t threads = static_cast<uint64_t>(block[0]) * block[1] * block[2];
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || threads == 0 || threads > threads_per_block) {
    return error_invalid_value;
  }
  BlockCost cost =
      block_resources(static_cast<uint32_t>(threads), function.registers, function.static_shared_bytes, dynamic_shared);
  if (function.static_shared_bytes + dynamic_shared > shared_bytes_per_block || blocks_that_fit(cost) == 0) {
    return error_launch_out_of_resources;
  }
  launch.function = &function;
  std::copy(grid, grid + 3, launch.grid);
  std::copy(block, block + 3, launch.block);
  launch.dynamic_shared_bytes = dynamic_shared;
  launch.block_ns = function.block_ns;
  launch.read_bytes = function.read_bytes;
  launch.write_bytes = function.write_bytes;
  launch.instructions = function.instructions;
  if (function.argument_ns >= 0 || function.work[0] >= 0 || function.records >= 0 || function.handshake >= 0 ||
      function.is_collective) {
    if (arguments == nullptr) {
      return error_invalid_value;
    }
    evaluate_arguments(function, arguments, launch);
  }
  return success;
}

Result launch_kernel(Call& call, void* function, const uint32_t (&grid)[3], const uint32_t (&block)[3],
                     uint32_t dynamic_shared, void* stream_handle, void** arguments, const uint32_t (&cluster)[3],
                     bool cooperative) {
  if (Result state = usable(); state != success) {
    return state;
  }
  StreamHandle* stream = resolve(stream_handle);
  if (stream == nullptr) {
    return error_invalid_context;
  }
  Node node;
  Result checked = evaluate(function, grid, block, dynamic_shared, arguments, node.launch);
  if (checked != success) {
    return checked;
  }
  std::copy(cluster, cluster + 3, node.launch.cluster);
  node.launch.launch_type = cooperative ? 1 : 0;
  if (node.launch.records != 0 && stream->capture == nullptr) {
    expect_records(call.correlation(), node.launch);
  }
  if (node.launch.handshake_page != 0 && stream->capture == nullptr) {
    begin_handshake({node.launch.handshake_page, node.launch.handshake_rounds, node.launch.handshake_limit_ns});
  }
  return enqueue(*stream, node, call.correlation());
}

}  // namespace

Result enqueue(StreamHandle& stream, const Node& node, uint32_t correlation, uint32_t graph_id,
               uint64_t graph_node_id) {
  if (stream.capture != nullptr && graph_id == 0) {
    std::lock_guard guard(driver().mutex);
    stream.capture->nodes.push_back(node);
    return success;
  }
  for (;;) {
    int64_t next;
    {
      Locked world(*driver().world);
      uint32_t index = none;
      if (world->streams[stream.world_index].depth < stream_depth) {
        index = allocate_operation(*world);
      }
      if (index != none) {
        Operation& operation = world->operations[index];
        fill_in(operation, node);
        operation.stream = stream.world_index;
        operation.correlation_id = correlation;
        operation.graph_id = graph_id;
        operation.graph_node_id = graph_node_id;
        submit(*world, index);
        return success;
      }
      next = next_event_ns(*world);
    }
    simcuda_collect();  // what has ended may be what fills the pool
    nap(next, false);
  }
}

SIMCUDA_API int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                               void** arguments, void**) {
  Call call(KVET_CUPTI_DRIVER_cuLaunchKernel);
  return call.end(launch_kernel(call, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                                stream, arguments, {0, 0, 0}, false));
}

SIMCUDA_API int cuLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                          void* stream, void** arguments) {
  Call call(KVET_CUPTI_DRIVER_cuLaunchCooperativeKernel);
  return call.end(launch_kernel(call, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                                stream, arguments, {0, 0, 0}, true));
}

SIMCUDA_API int cuLaunchKernelEx(const kvet_cuda_launch_config* config, void* function, void** arguments, void**) {
  Call call(KVET_CUPTI_DRIVER_cuLaunchKernelEx);
  if (config == nullptr) {
    return call.end(error_invalid_value);
  }
  uint32_t cluster[3] = {0, 0, 0};
  bool cooperative = false;
  const auto* attributes = std::bit_cast<const kvet_cuda_launch_attribute*>(config->attributes);
  for (uint32_t i = 0; i < config->attribute_count; ++i) {
    if (attributes[i].id == KVET_CUDA_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      std::copy(attributes[i].value.cluster, attributes[i].value.cluster + 3, cluster);
    } else if (attributes[i].id == KVET_CUDA_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      cooperative = attributes[i].value.cooperative != 0;
    }
  }
  return call.end(launch_kernel(call, function, {config->grid[0], config->grid[1], config->grid[2]},
                                {config->block[0], config->block[1], config->block[2]}, config->shared_bytes,
                                std::bit_cast<void*>(config->stream), arguments, cluster, cooperative));
}

SIMCUDA_API int cuLaunchHostFunc(void* stream_handle, void (*function)(void*), void* argument) {
  Call call(KVET_CUPTI_DRIVER_cuLaunchHostFunc);
  if (Result state = usable(); state != success) {
    return call.end(state);
  }
  StreamHandle* stream = resolve(stream_handle);
  if (stream == nullptr || function == nullptr) {
    return call.end(stream == nullptr ? error_invalid_context : error_invalid_value);
  }
  start_host_function_thread();
  Node node;
  node.kind = OperationKind::host_function;
  node.cookie = reinterpret_cast<uint64_t>(function);
  node.argument = reinterpret_cast<uint64_t>(argument);
  return call.end(enqueue(*stream, node, call.correlation()));
}

}  // namespace simcuda::driver
