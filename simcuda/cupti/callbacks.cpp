// Subscribing: possible once per process. Modules are shown to the subscriber while they are loaded.
#include "abi/vendor/cupti_callbacks.h"

#include "cupti/cupti.h"

namespace simcuda::cupti {
namespace {

struct Subscription {
  std::mutex mutex;
  bool taken = false, modules = false;
  kvet_cupti_callback_function callback = nullptr;
  void* user_data = nullptr;
};
Subscription& subscription() {
  static auto* instance = new Subscription;
  return *instance;
}

}  // namespace

void show_module(const void* image, size_t size) {
  static std::atomic<uint32_t> next_module{1};
  kvet_cupti_callback_function callback;
  void* user_data;
  {
    std::lock_guard guard(subscription().mutex);
    if (!subscription().taken || !subscription().modules) {
      return;
    }
    callback = subscription().callback;
    user_data = subscription().user_data;
  }
  kvet_cupti_module_resource_data module{next_module++, size, static_cast<const char*>(image)};
  kvet_cupti_resource_data resource{nullptr, nullptr, &module};
  callback(user_data, KVET_CUPTI_DOMAIN_RESOURCE, KVET_CUPTI_RESOURCE_MODULE_LOADED, &resource);
}

SIMCUDA_API int cuptiSubscribe(void** subscriber, kvet_cupti_callback_function callback, void* user_data) {
  if (subscriber == nullptr || callback == nullptr) {
    return KVET_CUPTI_ERROR_INVALID_PARAMETER;
  }
  std::lock_guard guard(subscription().mutex);
  if (held_by_another_profiler() || subscription().taken) {
    return KVET_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  subscription().taken = true;
  subscription().callback = callback;
  subscription().user_data = user_data;
  *subscriber = &subscription();
  return KVET_CUPTI_SUCCESS;
}
SIMCUDA_API int cuptiUnsubscribe(void*) {
  std::lock_guard guard(subscription().mutex);
  subscription().taken = subscription().modules = false;
  return KVET_CUPTI_SUCCESS;
}
SIMCUDA_API int cuptiEnableCallback(uint32_t enable, void*, uint32_t domain, uint32_t callback_id) {
  std::lock_guard guard(subscription().mutex);
  if (domain == KVET_CUPTI_DOMAIN_RESOURCE && callback_id == KVET_CUPTI_RESOURCE_MODULE_LOADED) {
    subscription().modules = enable != 0;
    return begin_observing();
  }
  return KVET_CUPTI_SUCCESS;
}

}  // namespace simcuda::cupti
