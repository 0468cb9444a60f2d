#include "driver.h"

#include <dlfcn.h>

namespace conformance {

const char* load_driver(Driver& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return "libcuda.so.1";
  }
#define FIND(name)                                                              \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, #name)); \
  if (driver.name == nullptr)                                                   \
  return #name
  FIND(cuInit);
  FIND(cuDriverGetVersion);
  FIND(cuDeviceGetCount);
  FIND(cuDeviceGet);
  FIND(cuDeviceGetName);
  FIND(cuDeviceGetUuid_v2);
  FIND(cuDeviceGetAttribute);
  FIND(cuDevicePrimaryCtxRetain);
  FIND(cuCtxSetCurrent);
  FIND(cuCtxSynchronize);
  FIND(cuModuleLoadData);
  FIND(cuModuleGetFunction);
  FIND(cuFuncGetAttribute);
  FIND(cuStreamCreate);
  FIND(cuStreamSynchronize);
  FIND(cuStreamQuery);
  FIND(cuStreamWaitEvent);
  FIND(cuStreamBeginCapture_v2);
  FIND(cuStreamEndCapture);
  FIND(cuGraphInstantiateWithFlags);
  FIND(cuGraphGetNodes);
  FIND(cuGraphLaunch);
  FIND(cuEventCreate);
  FIND(cuEventRecord);
  FIND(cuEventSynchronize);
  FIND(cuEventQuery);
  FIND(cuEventElapsedTime);
  FIND(cuLaunchKernel);
  FIND(cuLaunchKernelEx);
  FIND(cuLaunchCooperativeKernel);
  FIND(cuLaunchHostFunc);
  FIND(cuMemAlloc_v2);
  FIND(cuMemAllocHost_v2);
  FIND(cuMemFreeHost);
  FIND(cuMemcpyHtoDAsync_v2);
  FIND(cuMemcpyDtoHAsync_v2);
  FIND(cuMemsetD8Async);
#undef FIND
  return nullptr;
}

}  // namespace conformance
