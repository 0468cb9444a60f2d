// Exports what libcuda exports for launching, with the prototypes of cuda.h 13.0, and does nothing: the tests of the
// probes call it with arguments that they know.
#include <stddef.h>

typedef int CUresult;
typedef void* handle;

// What every function returns next.
CUresult look_alike_result = 0;

#define LAUNCH(name)                                                                                         \
  CUresult name(handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
                unsigned block_y, unsigned block_z, unsigned shared_bytes, handle stream, void** parameters, \
                void** extra) {                                                                              \
    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z,   \
        (void)shared_bytes, (void)stream, (void)parameters, (void)extra;                                     \
    return look_alike_result;                                                                                \
  }
LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernel_ptsz)

#define LAUNCH_COOPERATIVE(name)                                                                               \
  CUresult name(handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,          \
                unsigned block_y, unsigned block_z, unsigned shared_bytes, handle stream, void** parameters) { \
    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z,     \
        (void)shared_bytes, (void)stream, (void)parameters;                                                    \
    return look_alike_result;                                                                                  \
  }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

#define LAUNCH_EX(name)                                                                 \
  CUresult name(const void* config, handle function, void** parameters, void** extra) { \
    (void)config, (void)function, (void)parameters, (void)extra;                        \
    return look_alike_result;                                                           \
  }
LAUNCH_EX(cuLaunchKernelEx)
LAUNCH_EX(cuLaunchKernelEx_ptsz)

CUresult cuLaunchCooperativeKernelMultiDevice(void* launches, unsigned devices, unsigned flags) {
  (void)launches, (void)devices, (void)flags;
  return look_alike_result;
}

#define TWO(name)                     \
  CUresult name(handle a, handle b) { \
    (void)a, (void)b;                 \
    return look_alike_result;         \
  }
TWO(cuGraphLaunch)
TWO(cuGraphLaunch_ptsz)
TWO(cuStreamEndCapture)
TWO(cuStreamEndCapture_ptsz)
TWO(cuEventRecord)
TWO(cuEventRecord_ptsz)

#define THREE(name)                             \
  CUresult name(handle a, handle b, handle c) { \
    (void)a, (void)b, (void)c;                  \
    return look_alike_result;                   \
  }
THREE(cuLaunchHostFunc)
THREE(cuLaunchHostFunc_ptsz)
THREE(cuStreamBeginCapture_v2)
THREE(cuStreamBeginCapture_v2_ptsz)
THREE(cuEventRecordWithFlags)
THREE(cuEventRecordWithFlags_ptsz)
THREE(cuStreamWaitEvent)
THREE(cuStreamWaitEvent_ptsz)
