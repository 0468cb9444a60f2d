// The CUDA driver API as the conformance program uses it: own prototypes, found at run time, so that the same program runs
// on the stand-in and on a real GPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace conformance {

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid[3], block[3], shared_bytes, padding;
  void* stream;
  void* attributes;
  unsigned attribute_count, padding2;
};

struct Driver {
  int (*cuInit)(unsigned);
  int (*cuDriverGetVersion)(int*);
  int (*cuDeviceGetCount)(int*);
  int (*cuDeviceGet)(int*, int);
  int (*cuDeviceGetName)(char*, int, int);
  int (*cuDeviceGetUuid_v2)(unsigned char*, int);
  int (*cuDeviceGetAttribute)(int*, int, int);
  int (*cuDevicePrimaryCtxRetain)(void**, int);
  int (*cuCtxSetCurrent)(void*);
  int (*cuCtxSynchronize)();
  int (*cuModuleLoadData)(void**, const void*);
  int (*cuModuleGetFunction)(void**, void*, const char*);
  int (*cuFuncGetAttribute)(int*, int, void*);
  int (*cuStreamCreate)(void**, unsigned);
  int (*cuStreamSynchronize)(void*);
  int (*cuStreamQuery)(void*);
  int (*cuStreamWaitEvent)(void*, void*, unsigned);
  int (*cuStreamBeginCapture_v2)(void*, int);
  int (*cuStreamEndCapture)(void*, void**);
  int (*cuGraphInstantiateWithFlags)(void**, void*, unsigned long long);
  int (*cuGraphGetNodes)(void*, void**, size_t*);
  int (*cuGraphLaunch)(void*, void*);
  int (*cuEventCreate)(void**, unsigned);
  int (*cuEventRecord)(void*, void*);
  int (*cuEventSynchronize)(void*);
  int (*cuEventQuery)(void*);
  int (*cuEventElapsedTime)(float*, void*, void*);
  int (*cuLaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                        void**);
  int (*cuLaunchKernelEx)(const LaunchConfig*, void*, void**, void**);
  int (*cuLaunchCooperativeKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                                   void**);
  int (*cuLaunchHostFunc)(void*, void (*)(void*), void*);
  int (*cuMemAlloc_v2)(uint64_t*, size_t);
  int (*cuMemAllocHost_v2)(void**, size_t);
  int (*cuMemFreeHost)(void*);
  int (*cuMemcpyHtoDAsync_v2)(uint64_t, const void*, size_t, void*);
  int (*cuMemcpyDtoHAsync_v2)(void*, uint64_t, size_t, void*);
  int (*cuMemsetD8Async)(uint64_t, unsigned char, size_t, void*);
};

// nullptr, or the name of what is missing.
const char* load_driver(Driver& driver);

}  // namespace conformance
