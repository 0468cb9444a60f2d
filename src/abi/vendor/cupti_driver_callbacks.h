// CUPTI's driver callback ids of the entry points that kvet records, each with the kind of call that it is in
// abi/records.h. One list, so that the injected library enables exactly what it can classify. Held against
// cupti_driver_cbid.h by vendor_check.cpp. The numbers are part of CUPTI's binary interface and never change; an id that an
// older libcupti does not know is refused by it, which costs nothing. Copies between device memories return before they
// are done, whatever their name says, and count as asynchronous.
#ifndef KVET_ABI_VENDOR_CUPTI_DRIVER_CALLBACKS_H
#define KVET_ABI_VENDOR_CUPTI_DRIVER_CALLBACKS_H

#include "abi/records.h"

// X(entry point as CUPTI names it, id, enum kvet_api_kind)
#define KVET_CUPTI_DRIVER_CALLBACKS(X)                                      \
  X(cuLaunch, 115, KVET_API_LAUNCH_KERNEL)                                  \
  X(cuLaunchGrid, 116, KVET_API_LAUNCH_KERNEL)                              \
  X(cuLaunchGridAsync, 117, KVET_API_LAUNCH_KERNEL)                         \
  X(cuLaunchKernel, 307, KVET_API_LAUNCH_KERNEL)                            \
  X(cuLaunchKernel_ptsz, 442, KVET_API_LAUNCH_KERNEL)                       \
  X(cuLaunchKernelEx, 652, KVET_API_LAUNCH_KERNEL)                          \
  X(cuLaunchKernelEx_ptsz, 653, KVET_API_LAUNCH_KERNEL)                     \
  X(cuLaunchCooperativeKernel, 477, KVET_API_LAUNCH_COOPERATIVE)            \
  X(cuLaunchCooperativeKernel_ptsz, 478, KVET_API_LAUNCH_COOPERATIVE)       \
  X(cuLaunchCooperativeKernelMultiDevice, 480, KVET_API_LAUNCH_COOPERATIVE) \
  X(cuGraphLaunch, 514, KVET_API_LAUNCH_GRAPH)                              \
  X(cuGraphLaunch_ptsz, 515, KVET_API_LAUNCH_GRAPH)                         \
  X(cuLaunchHostFunc, 527, KVET_API_LAUNCH_HOST_FUNCTION)                   \
  X(cuLaunchHostFunc_ptsz, 528, KVET_API_LAUNCH_HOST_FUNCTION)              \
  X(cuStreamSynchronize, 126, KVET_API_SYNCHRONIZE_STREAM)                  \
  X(cuStreamSynchronize_ptsz, 440, KVET_API_SYNCHRONIZE_STREAM)             \
  X(cuCtxSynchronize, 17, KVET_API_SYNCHRONIZE_CONTEXT)                     \
  X(cuCtxSynchronize_v2, 800, KVET_API_SYNCHRONIZE_CONTEXT)                 \
  X(cuEventSynchronize, 121, KVET_API_SYNCHRONIZE_EVENT)                    \
  X(cuStreamBeginCapture, 495, KVET_API_CAPTURE_BEGIN)                      \
  X(cuStreamBeginCapture_ptsz, 496, KVET_API_CAPTURE_BEGIN)                 \
  X(cuStreamBeginCapture_v2, 539, KVET_API_CAPTURE_BEGIN)                   \
  X(cuStreamBeginCapture_v2_ptsz, 540, KVET_API_CAPTURE_BEGIN)              \
  X(cuStreamBeginCaptureToGraph, 720, KVET_API_CAPTURE_BEGIN)               \
  X(cuStreamBeginCaptureToGraph_ptsz, 721, KVET_API_CAPTURE_BEGIN)          \
  X(cuStreamEndCapture, 497, KVET_API_CAPTURE_END)                          \
  X(cuStreamEndCapture_ptsz, 498, KVET_API_CAPTURE_END)                     \
  X(cuMemcpy_v2, 248, KVET_API_SYNCHRONIZE_COPY)                            \
  X(cuMemcpyHtoD_v2, 276, KVET_API_SYNCHRONIZE_COPY)                        \
  X(cuMemcpyDtoH_v2, 278, KVET_API_SYNCHRONIZE_COPY)                        \
  X(cuMemcpyDtoD_v2, 280, KVET_API_COPY_ASYNC)                              \
  X(cuMemcpyAtoH_v2, 282, KVET_API_SYNCHRONIZE_COPY)                        \
  X(cuMemcpyAtoD_v2, 284, KVET_API_COPY_ASYNC)                              \
  X(cuMemcpyDtoA_v2, 285, KVET_API_COPY_ASYNC)                              \
  X(cuMemcpyAtoA_v2, 286, KVET_API_COPY_ASYNC)                              \
  X(cuMemcpy2D_v2, 287, KVET_API_SYNCHRONIZE_COPY)                          \
  X(cuMemcpy2DUnaligned_v2, 288, KVET_API_SYNCHRONIZE_COPY)                 \
  X(cuMemcpy3D_v2, 290, KVET_API_SYNCHRONIZE_COPY)                          \
  X(cuMemcpyHtoA_v2, 292, KVET_API_SYNCHRONIZE_COPY)                        \
  X(cuMemcpy, 305, KVET_API_SYNCHRONIZE_COPY)                               \
  X(cuMemcpyPeer, 318, KVET_API_SYNCHRONIZE_COPY)                           \
  X(cuMemcpy3DPeer, 320, KVET_API_SYNCHRONIZE_COPY)                         \
  X(cuMemcpyHtoD_v2_ptds, 397, KVET_API_SYNCHRONIZE_COPY)                   \
  X(cuMemcpyDtoH_v2_ptds, 398, KVET_API_SYNCHRONIZE_COPY)                   \
  X(cuMemcpyDtoD_v2_ptds, 399, KVET_API_COPY_ASYNC)                         \
  X(cuMemcpyDtoA_v2_ptds, 400, KVET_API_COPY_ASYNC)                         \
  X(cuMemcpyAtoD_v2_ptds, 401, KVET_API_COPY_ASYNC)                         \
  X(cuMemcpyHtoA_v2_ptds, 402, KVET_API_SYNCHRONIZE_COPY)                   \
  X(cuMemcpyAtoH_v2_ptds, 403, KVET_API_SYNCHRONIZE_COPY)                   \
  X(cuMemcpyAtoA_v2_ptds, 404, KVET_API_COPY_ASYNC)                         \
  X(cuMemcpy2D_v2_ptds, 405, KVET_API_SYNCHRONIZE_COPY)                     \
  X(cuMemcpy2DUnaligned_v2_ptds, 406, KVET_API_SYNCHRONIZE_COPY)            \
  X(cuMemcpy3D_v2_ptds, 407, KVET_API_SYNCHRONIZE_COPY)                     \
  X(cuMemcpy_ptds, 408, KVET_API_SYNCHRONIZE_COPY)                          \
  X(cuMemcpyPeer_ptds, 409, KVET_API_SYNCHRONIZE_COPY)                      \
  X(cuMemcpy3DPeer_ptds, 410, KVET_API_SYNCHRONIZE_COPY)                    \
  X(cuMemsetD8Async, 216, KVET_API_COPY_ASYNC)                              \
  X(cuMemsetD16Async, 218, KVET_API_COPY_ASYNC)                             \
  X(cuMemsetD32Async, 220, KVET_API_COPY_ASYNC)                             \
  X(cuMemsetD2D8Async, 222, KVET_API_COPY_ASYNC)                            \
  X(cuMemsetD2D16Async, 224, KVET_API_COPY_ASYNC)                           \
  X(cuMemsetD2D32Async, 226, KVET_API_COPY_ASYNC)                           \
  X(cuMemcpyHtoDAsync_v2, 277, KVET_API_COPY_ASYNC)                         \
  X(cuMemcpyDtoHAsync_v2, 279, KVET_API_COPY_ASYNC)                         \
  X(cuMemcpyDtoDAsync_v2, 281, KVET_API_COPY_ASYNC)                         \
  X(cuMemcpyAtoHAsync_v2, 283, KVET_API_COPY_ASYNC)                         \
  X(cuMemcpy2DAsync_v2, 289, KVET_API_COPY_ASYNC)                           \
  X(cuMemcpy3DAsync_v2, 291, KVET_API_COPY_ASYNC)                           \
  X(cuMemcpyHtoAAsync_v2, 293, KVET_API_COPY_ASYNC)                         \
  X(cuMemcpyAsync, 306, KVET_API_COPY_ASYNC)                                \
  X(cuMemcpyPeerAsync, 319, KVET_API_COPY_ASYNC)                            \
  X(cuMemcpy3DPeerAsync, 321, KVET_API_COPY_ASYNC)                          \
  X(cuMemcpyAsync_ptsz, 418, KVET_API_COPY_ASYNC)                           \
  X(cuMemcpyHtoAAsync_v2_ptsz, 419, KVET_API_COPY_ASYNC)                    \
  X(cuMemcpyAtoHAsync_v2_ptsz, 420, KVET_API_COPY_ASYNC)                    \
  X(cuMemcpyHtoDAsync_v2_ptsz, 421, KVET_API_COPY_ASYNC)                    \
  X(cuMemcpyDtoHAsync_v2_ptsz, 422, KVET_API_COPY_ASYNC)                    \
  X(cuMemcpyDtoDAsync_v2_ptsz, 423, KVET_API_COPY_ASYNC)                    \
  X(cuMemcpy2DAsync_v2_ptsz, 424, KVET_API_COPY_ASYNC)                      \
  X(cuMemcpy3DAsync_v2_ptsz, 425, KVET_API_COPY_ASYNC)                      \
  X(cuMemcpyPeerAsync_ptsz, 426, KVET_API_COPY_ASYNC)                       \
  X(cuMemcpy3DPeerAsync_ptsz, 427, KVET_API_COPY_ASYNC)                     \
  X(cuMemsetD8Async_ptsz, 428, KVET_API_COPY_ASYNC)                         \
  X(cuMemsetD16Async_ptsz, 429, KVET_API_COPY_ASYNC)                        \
  X(cuMemsetD32Async_ptsz, 430, KVET_API_COPY_ASYNC)                        \
  X(cuMemsetD2D8Async_ptsz, 431, KVET_API_COPY_ASYNC)                       \
  X(cuMemsetD2D16Async_ptsz, 432, KVET_API_COPY_ASYNC)                      \
  X(cuMemsetD2D32Async_ptsz, 433, KVET_API_COPY_ASYNC)                      \
  X(cuMemcpyBatchAsync, 776, KVET_API_COPY_ASYNC)                           \
  X(cuMemcpyBatchAsync_ptsz, 777, KVET_API_COPY_ASYNC)                      \
  X(cuMemcpy3DBatchAsync, 778, KVET_API_COPY_ASYNC)                         \
  X(cuMemcpy3DBatchAsync_ptsz, 779, KVET_API_COPY_ASYNC)                    \
  X(cuMemcpyBatchAsync_v2, 796, KVET_API_COPY_ASYNC)                        \
  X(cuMemcpyBatchAsync_v2_ptsz, 797, KVET_API_COPY_ASYNC)                   \
  X(cuMemcpy3DBatchAsync_v2, 798, KVET_API_COPY_ASYNC)                      \
  X(cuMemcpy3DBatchAsync_v2_ptsz, 799, KVET_API_COPY_ASYNC)

enum kvet_cupti_driver_callback {
#define KVET_CUPTI_DRIVER_ENUMERATOR(name, id, kind) KVET_CUPTI_DRIVER_##name = (id),
  KVET_CUPTI_DRIVER_CALLBACKS(KVET_CUPTI_DRIVER_ENUMERATOR)
#undef KVET_CUPTI_DRIVER_ENUMERATOR
};

#endif
