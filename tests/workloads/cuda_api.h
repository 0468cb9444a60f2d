// The part of CUDA's driver API and of NCCL that the workloads call, with what a workload wants: a failure ends it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
int cuInit(unsigned);
int cuDeviceGetCount(int*);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxSetCurrent(void*);
int cuCtxSynchronize();
int cuModuleLoadData(void**, const void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuStreamCreate(void**, unsigned);
int cuStreamSynchronize(void*);
int cuStreamBeginCapture_v2(void*, int);
int cuStreamEndCapture(void*, void**);
int cuGraphInstantiateWithFlags(void**, void*, unsigned long long);
int cuGraphLaunch(void*, void*);
int cuEventCreate(void**, unsigned);
int cuEventRecord(void*, void*);
int cuStreamWaitEvent(void*, void*, unsigned);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int cuMemAlloc_v2(uint64_t*, size_t);
int cuMemcpyHtoDAsync_v2(uint64_t, const void*, size_t, void*);

struct NcclUniqueId {
  unsigned char bytes[128];
};
int ncclGetUniqueId(NcclUniqueId*);
int ncclCommInitRank(void**, int, NcclUniqueId, int);
int ncclCommDestroy(void*);
int ncclAllReduce(const void*, void*, size_t, int, int, void*, void*);
}

namespace workloads {

// Ends the process with status 1 and says which call failed, unless `result` is 0.
void must(int result, const char* call);
#define MUST(call) ::workloads::must((call), #call)

int64_t now_ns();  // CLOCK_MONOTONIC
int32_t thread_id();

}  // namespace workloads
