// Records as CUDA 13.0's CUPTI lays them out. The layouts in abi/vendor are prefixes of these; what later versions appended
// is here, so that whoever steps by the prefix's size instead of cuptiActivityGetNextRecord goes wrong, as it would with the
// real library. layouts_check.cpp holds them against cupti.h where that is found.
#pragma once

#include "abi/vendor/cupti_activity.h"

namespace simcuda::cupti {

struct KVET_CUPTI_RECORD Kernel10 {
  kvet_cupti_kernel base;
  uint8_t is_device_launched;
  uint8_t padding[7];
};
struct KVET_CUPTI_RECORD Memcpy6 {
  kvet_cupti_memcpy base;
  uint64_t copy_count;
};
struct KVET_CUPTI_RECORD Device5 {
  kvet_cupti_device base;
  uint32_t is_numa_node;
  uint32_t numa_id;
};
struct KVET_CUPTI_RECORD Context3 {
  kvet_cupti_context base;
  uint32_t parent_context_id;
  uint8_t is_green_context;
  uint8_t padding;
  uint16_t multiprocessors;
  uint32_t graphics_mode;
  uint32_t padding2;
};

}  // namespace simcuda::cupti
