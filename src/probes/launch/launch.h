// What the recorder tells the launch program about the function that an uprobe sits on: its attach cookie.
// Plain C, for the BPF program and for the recorder.
#ifndef KVET_PROBES_LAUNCH_H
#define KVET_PROBES_LAUNCH_H

enum kvet_launch_function {
  KVET_FUNCTION_LAUNCH_KERNEL = 1,  // grid and block as arguments; also cuLaunchCooperativeKernel
  KVET_FUNCTION_LAUNCH_KERNEL_EX = 2,  // in a CUlaunchConfig
  KVET_FUNCTION_LAUNCH_MULTI_DEVICE = 3,  // in an array of CUDA_LAUNCH_PARAMS
  KVET_FUNCTION_LAUNCH_GRAPH = 4,
  KVET_FUNCTION_LAUNCH_HOST_FUNCTION = 5,
  KVET_FUNCTION_CAPTURE_BEGIN = 6,  // (stream, …)
  KVET_FUNCTION_CAPTURE_END = 7,  // (stream, …)
  KVET_FUNCTION_EVENT_RECORD = 8,  // (event, stream, …)
  KVET_FUNCTION_STREAM_WAIT_EVENT = 9,  // (stream, event, …)
};
// The cookie: the function above in bits 0 to 7, enum kvet_api_kind in bits 8 to 15, and these.
#define KVET_LAUNCH_COOKIE_KIND_SHIFT 8
#define KVET_LAUNCH_COOKIE_PER_THREAD (1u << 16)  // a _ptsz twin: stream 0 means the thread's own default stream

#endif
