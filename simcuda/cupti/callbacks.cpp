// Subscribing is possible, once; modules are shown to the subscriber when they are loaded.
#include "abi/vendor/cupti_callbacks.h"

#include "cupti/cupti.h"

namespace simcuda::cupti {
namespace {
std::atomic<bool> subscribed{false};
int subscriber_object;
}  // namespace

SIMCUDA_API int cuptiSubscribe(void** subscriber, kvet_cupti_callback_function callback, void*) {
  if (subscriber == nullptr || callback == nullptr) {
    return KVET_CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (held_by_another_profiler() || subscribed.exchange(true)) {
    return KVET_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  *subscriber = &subscriber_object;
  return KVET_CUPTI_SUCCESS;
}
SIMCUDA_API int cuptiUnsubscribe(void*) {
  subscribed = false;
  return KVET_CUPTI_SUCCESS;
}
SIMCUDA_API int cuptiEnableCallback(uint32_t, void*, uint32_t, uint32_t) { return KVET_CUPTI_SUCCESS; }

}  // namespace simcuda::cupti
