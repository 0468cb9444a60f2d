// The appended parts of the records against NVIDIA's header. Built only where CMake finds cupti.h; it has no code of its own.
#include <cupti.h>

#include <cstddef>

#include "cupti/layouts.h"

namespace simcuda::cupti {

static_assert(sizeof(Kernel10) == sizeof(CUpti_ActivityKernel10));
static_assert(offsetof(Kernel10, is_device_launched) == offsetof(CUpti_ActivityKernel10, isDeviceLaunched));
static_assert(sizeof(Memcpy6) == sizeof(CUpti_ActivityMemcpy6));
static_assert(offsetof(Memcpy6, copy_count) == offsetof(CUpti_ActivityMemcpy6, copyCount));
static_assert(sizeof(Device5) == sizeof(CUpti_ActivityDevice5));
static_assert(offsetof(Device5, is_numa_node) == offsetof(CUpti_ActivityDevice5, isNumaNode));
static_assert(sizeof(Context3) == sizeof(CUpti_ActivityContext3));
static_assert(offsetof(Context3, multiprocessors) == offsetof(CUpti_ActivityContext3, numMultiprocessors));
static_assert(sizeof(kvet_cupti_memset) == sizeof(CUpti_ActivityMemset4));
static_assert(sizeof(kvet_cupti_api) == sizeof(CUpti_ActivityAPI));
static_assert(sizeof(kvet_cupti_marker) == sizeof(CUpti_ActivityMarker2));
static_assert(sizeof(kvet_cupti_stream) == sizeof(CUpti_ActivityStream));

}  // namespace simcuda::cupti
