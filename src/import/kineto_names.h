// What the names in a PyTorch profiler's trace mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/events.h"

namespace kvet::importing {

enum class KinetoCategory : uint8_t {
  kernel,
  copy,
  memset,
  api,  // of the runtime or the driver
  annotation,
  cpu_operator,
  other,
};
// From "cat", as Kineto of 2020 ("Kernel") and of today ("kernel") writes it.
[[nodiscard]] KinetoCategory category_of(std::string_view text);

// A call of CUDA's runtime or driver, or of HIP's. Empty: kvet does not keep it.
[[nodiscard]] std::optional<ApiKind> api_kind_of(std::string_view name);

// "Memcpy HtoD (Pageable -> Device)"
[[nodiscard]] TransferKind copy_kind_of(std::string_view name);

// "Collective name" of PyTorch's record_param_comms. Empty: nothing that runs on the device ("wait"), or unknown.
[[nodiscard]] std::optional<CollectiveKind> collective_kind_of(std::string_view name);
// "dtype" as ncclDataType_t (nccl.h of NCCL 2.24); −1: unknown.
[[nodiscard]] int32_t nccl_data_type_of(std::string_view name);

}  // namespace kvet::importing
