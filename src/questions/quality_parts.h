// The parts that quality() puts together.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/capture.h"
#include "model/finding.h"

namespace kvet::questions {

[[nodiscard]] constexpr bool is_launch(ApiKind kind) {
  switch (kind) {
    case ApiKind::launch_kernel:
    case ApiKind::launch_cooperative:
    case ApiKind::launch_graph:
    case ApiKind::launch_host_function: return true;
    case ApiKind::synchronize_stream:
    case ApiKind::synchronize_context:
    case ApiKind::synchronize_event:
    case ApiKind::synchronize_copy:
    case ApiKind::copy_async:
    case ApiKind::wait_for_queue: return false;
  }
  return false;
}

// What joining launches and executions by correlation id tells: quality.executions, quality.graph_nodes,
// quality.causality.start, quality.causality.end.
void add_joins(std::vector<Finding>& findings, const Capture& capture);

// occupancy.device, dram.device, device.sm_clock, device.throttled: one of each per device that was sampled or read.
void add_device_figures(std::vector<Finding>& findings, const Capture& capture);

// device.mig, device.mps_clients, device.time_sliced, device.unsampled, device.lost: where they apply.
void add_device_states(std::vector<Finding>& findings, const Capture& capture);

// How findings call a device.
std::string device_label(const Capture& capture, DeviceId device);

}  // namespace kvet::questions
