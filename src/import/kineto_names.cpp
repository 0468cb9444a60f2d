#include "import/kineto_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kvet::importing {
namespace {

template <class Value, size_t N>
std::optional<Value> in(const std::array<std::pair<std::string_view, Value>, N>& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &std::pair<std::string_view, Value>::first);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

// What follows "cuda", "cu" or "hip". Calls of one kind with other arguments have suffixes: _v2, _ptsz (per-thread default stream).
std::string_view stem_of(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "cu", "hip"}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  for (const std::string_view suffix : {"_ptsz", "_spt", "_v2"}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
    }
  }
  return name;
}

}  // namespace

KinetoCategory category_of(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, KinetoCategory>, 16> table{{
      {"cpu_op", KinetoCategory::cpu_operator},
      {"cuda_runtime", KinetoCategory::api},
      {"kernel", KinetoCategory::kernel},
      {"cuda_driver", KinetoCategory::api},
      {"gpu_memcpy", KinetoCategory::copy},
      {"gpu_memset", KinetoCategory::memset},
      {"user_annotation", KinetoCategory::annotation},
      {"hip_runtime", KinetoCategory::api},
      {"hip_driver", KinetoCategory::api},
      {"Kernel", KinetoCategory::kernel},
      {"Memcpy", KinetoCategory::copy},
      {"Memset", KinetoCategory::memset},
      {"Runtime", KinetoCategory::api},
      {"Operator", KinetoCategory::cpu_operator},
      {"cuda_runtime_api", KinetoCategory::api},
      {"cuda_driver_api", KinetoCategory::api},
  }};
  return in(table, text).value_or(KinetoCategory::other);
}

std::optional<ApiKind> api_kind_of(std::string_view name) {
  // hipMemcpyWithStream waits for the copy. cudaMemcpy waits but for some small and device-to-device copies; cudaMemset does not
  // wait (CUDA Runtime API, "API synchronization behavior").
  static constexpr std::array<std::pair<std::string_view, ApiKind>, 47> table{{
      {"LaunchKernel", ApiKind::launch_kernel},
      {"LaunchKernelExC", ApiKind::launch_kernel},
      {"LaunchKernelEx", ApiKind::launch_kernel},
      {"MemcpyAsync", ApiKind::copy_async},
      {"MemsetAsync", ApiKind::copy_async},
      {"StreamSynchronize", ApiKind::synchronize_stream},
      {"DeviceSynchronize", ApiKind::synchronize_context},
      {"GraphLaunch", ApiKind::launch_graph},
      {"EventSynchronize", ApiKind::synchronize_event},
      {"LaunchCooperativeKernel", ApiKind::launch_cooperative},
      {"LaunchCooperativeKernelMultiDevice", ApiKind::launch_cooperative},
      {"ModuleLaunchCooperativeKernel", ApiKind::launch_cooperative},
      {"ModuleLaunchCooperativeKernelMultiDevice", ApiKind::launch_cooperative},
      {"ModuleLaunchKernel", ApiKind::launch_kernel},
      {"ExtModuleLaunchKernel", ApiKind::launch_kernel},
      {"HccModuleLaunchKernel", ApiKind::launch_kernel},
      {"ExtLaunchKernel", ApiKind::launch_kernel},
      {"ExtLaunchMultiKernelMultiDevice", ApiKind::launch_kernel},
      {"LaunchByPtr", ApiKind::launch_kernel},
      {"DrvLaunchKernelEx", ApiKind::launch_kernel},
      {"Launch", ApiKind::launch_kernel},
      {"LaunchGrid", ApiKind::launch_kernel},
      {"LaunchGridAsync", ApiKind::launch_kernel},
      {"LaunchHostFunc", ApiKind::launch_host_function},
      {"StreamAddCallback", ApiKind::launch_host_function},
      {"CtxSynchronize", ApiKind::synchronize_context},
      {"ThreadSynchronize", ApiKind::synchronize_context},
      {"Memcpy", ApiKind::synchronize_copy},
      {"MemcpyWithStream", ApiKind::synchronize_copy},
      {"MemcpyHtoD", ApiKind::synchronize_copy},
      {"MemcpyDtoH", ApiKind::synchronize_copy},
      {"MemcpyDtoD", ApiKind::synchronize_copy},
      {"Memcpy2D", ApiKind::synchronize_copy},
      {"Memcpy3D", ApiKind::synchronize_copy},
      {"MemcpyPeer", ApiKind::synchronize_copy},
      {"MemcpyToSymbol", ApiKind::synchronize_copy},
      {"MemcpyFromSymbol", ApiKind::synchronize_copy},
      {"MemcpyHtoDAsync", ApiKind::copy_async},
      {"MemcpyDtoHAsync", ApiKind::copy_async},
      {"MemcpyDtoDAsync", ApiKind::copy_async},
      {"Memcpy2DAsync", ApiKind::copy_async},
      {"Memcpy3DAsync", ApiKind::copy_async},
      {"MemcpyPeerAsync", ApiKind::copy_async},
      {"Memset", ApiKind::copy_async},
      {"MemsetD8Async", ApiKind::copy_async},
      {"MemsetD32Async", ApiKind::copy_async},
      {"Memset2DAsync", ApiKind::copy_async},
  }};
  return in(table, stem_of(name));
}

TransferKind copy_kind_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, TransferKind>, 4> table{{
      {"HtoD", TransferKind::host_to_device},
      {"DtoH", TransferKind::device_to_host},
      {"DtoD", TransferKind::device_to_device},
      {"PtoP", TransferKind::peer},
  }};
  constexpr std::string_view prefix = "Memcpy ";
  return name.starts_with(prefix) ? in(table, name.substr(prefix.size(), 4)).value_or(TransferKind::other)
                                  : TransferKind::other;
}

std::optional<CollectiveKind> collective_kind_of(std::string_view name) {
  // torch/csrc/distributed/c10d: the names that ProcessGroupNCCL gives to RECORD_PARAM_COMMS.
  static constexpr std::array<std::pair<std::string_view, CollectiveKind>, 27> table{{
      {"allreduce", CollectiveKind::all_reduce},
      {"all_reduce", CollectiveKind::all_reduce},
      {"allreduce_coalesced", CollectiveKind::all_reduce},
      {"barrier", CollectiveKind::all_reduce},  // of one element
      {"all_gather", CollectiveKind::all_gather},
      {"allgather", CollectiveKind::all_gather},
      {"_allgather_base", CollectiveKind::all_gather},
      {"all_gather_into_tensor", CollectiveKind::all_gather},
      {"allgather_into_tensor_coalesced", CollectiveKind::all_gather},
      {"reduce_scatter", CollectiveKind::reduce_scatter},
      {"_reduce_scatter_base", CollectiveKind::reduce_scatter},
      {"reduce_scatter_tensor", CollectiveKind::reduce_scatter},
      {"reduce_scatter_tensor_coalesced", CollectiveKind::reduce_scatter},
      {"broadcast", CollectiveKind::broadcast},
      {"_broadcast_oop", CollectiveKind::broadcast},
      {"reduce", CollectiveKind::reduce},
      {"_reduce_oop", CollectiveKind::reduce},
      {"all_to_all", CollectiveKind::all_to_all},
      {"all_to_allv", CollectiveKind::all_to_all},
      {"alltoall", CollectiveKind::all_to_all},
      {"alltoall_base", CollectiveKind::all_to_all},
      {"all_to_all_single", CollectiveKind::all_to_all},
      {"send", CollectiveKind::send},
      {"recv", CollectiveKind::receive},
      {"gather", CollectiveKind::gather},
      {"scatter", CollectiveKind::scatter},
      {"recvAnysource", CollectiveKind::receive},
  }};
  return in(table, name);
}

int32_t nccl_data_type_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, int32_t>, 12> table{{
      {"Char", 0},
      {"Byte", 1},
      {"Bool", 1},
      {"Int", 2},
      {"Long", 4},
      {"Half", 6},
      {"Float", 7},
      {"Double", 8},
      {"BFloat16", 9},
      {"Float8_e4m3fn", 10},
      {"Float8_e5m2", 11},
      {"UInt32", 3},
  }};
  return in(table, name).value_or(-1);
}

}  // namespace kvet::importing
