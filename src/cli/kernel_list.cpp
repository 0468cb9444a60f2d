#include "cli/kernel_list.h"

#include <algorithm>
#include <map>

namespace kvet::cli {

std::vector<ListedKernel> list_kernels(const Capture& capture) {
  std::map<uint32_t, ListedKernel> by_name;
  std::vector<ListedKernel*> by_shape;
  for (const KernelShape& shape : capture.shapes) {
    ListedKernel& kernel = by_name[shape.name.value];
    kernel.id = shape.name;
    if (shape.code_hash != 0) {
      kernel.code_hashes.insert(shape.code_hash);
    }
    by_shape.push_back(&kernel);
  }
  for (const Execution& execution : capture.executions) {
    ListedKernel& kernel = *by_shape[execution.shape.value];
    ++kernel.executions;
    kernel.graph_executions += execution.graph_node_id != 0 ? 1 : 0;
    kernel.time_ns += static_cast<double>(execution.end_ns - execution.start_ns);
    kernel.shapes.insert(execution.shape.value);
    // Processes and contexts of one capture are few: 2^16 of each is plenty.
    kernel.streams.insert(uint64_t{execution.process.value} << 48 | uint64_t{execution.context_id & 0xffffu} << 32 |
                          execution.stream_id);
    kernel.devices.insert(execution.device.value);
  }
  std::vector<ListedKernel> kernels;
  for (auto& [id, kernel] : by_name) {
    if (kernel.executions > 0) {
      kernel.name = capture.text(kernel.id);
      kernels.push_back(std::move(kernel));
    }
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const ListedKernel& a, const ListedKernel& b) { return a.time_ns > b.time_ns; });
  return kernels;
}

questions::KernelSet kernel_set_of(const Capture& capture, const ListedKernel& kernel) {
  questions::KernelSet set;
  set.label = kernel.name;
  for (const KernelShape& shape : capture.shapes) {
    set.has_shape.push_back(shape.name == kernel.id);
  }
  return set;
}

std::unexpected<Error> no_kernels(const Capture& capture) {
  const std::string_view tier = capture.fact("tier");
  const std::string_view status = capture.fact("inject.status");
  if (tier == "host" || tier == "host+counters") {
    return fail(ErrorKind::bad_input, "holds no kernels, because the " + std::string(tier) + " tier sees launches only",
                capture.path, "Record with `kvet record -- CMD` to see what ran on the device");
  }
  if (!status.empty()) {
    return fail(ErrorKind::bad_input, "holds no kernels: " + std::string(status), capture.path,
                "`kvet doctor` says what this machine needs");
  }
  if (!capture.complete) {
    return fail(ErrorKind::bad_input, "holds no kernels, and its end is missing", capture.path,
                "The recorder was stopped before it could write them, or writes them still: wait, or record again");
  }
  return fail(ErrorKind::bad_input, "holds no kernels: the target ran none while it was recorded", capture.path,
              "Record a part in which it uses the GPU (`--delay`, `--duration`)");
}

}  // namespace kvet::cli
