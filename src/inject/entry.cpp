// The two symbols that the library shows. The driver calls the first from cuInit when CUDA_INJECTION64_PATH names this
// file; NVTX calls the second at its first use when NVTX_INJECTION64_PATH does.
#include "inject/session.h"

extern "C" {

__attribute__((visibility("default"))) int InitializeInjection(void) {
  kvet::inject::session().start();
  return 1;  // 0 would make cuInit fail: the target must not notice
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* get_export_table) {
  return kvet::inject::session().start_nvtx(get_export_table);
}
}
