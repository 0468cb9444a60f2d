// Our own declarations of what kvet uses of CUPTI's callback interface: resource callbacks, which show a module's code
// when it is loaded. Held against NVIDIA's headers by vendor_check.cpp. Names begin with kvet_cupti.
#ifndef KVET_ABI_VENDOR_CUPTI_CALLBACKS_H
#define KVET_ABI_VENDOR_CUPTI_CALLBACKS_H

#include "abi/vendor/cupti_activity.h"

enum { KVET_CUPTI_DOMAIN_RESOURCE = 3 };  // CUPTI_CB_DOMAIN_RESOURCE
enum kvet_cupti_resource_callback {       // CUpti_CallbackIdResource
  KVET_CUPTI_RESOURCE_MODULE_LOADED = 6,
  KVET_CUPTI_RESOURCE_MODULE_UNLOAD_STARTING = 7,
};

struct kvet_cupti_resource_data {  // CUpti_ResourceData
  kvet_cuda_context_t context;
  void* resource_handle;
  void* resource_descriptor;  // for modules: struct kvet_cupti_module_resource_data
};
struct kvet_cupti_module_resource_data {  // CUpti_ModuleResourceData
  uint32_t module_id;
  size_t cubin_size;
  const char* cubin;
};

typedef struct kvet_cupti_subscriber* kvet_cupti_subscriber_t;
typedef void (*kvet_cupti_callback_function)(void* user_data, uint32_t domain, uint32_t callback_id, const void* data);
typedef kvet_cupti_result (*kvet_cupti_subscribe)(kvet_cupti_subscriber_t* subscriber,
                                                  kvet_cupti_callback_function callback, void* user_data);
typedef kvet_cupti_result (*kvet_cupti_unsubscribe)(kvet_cupti_subscriber_t subscriber);
typedef kvet_cupti_result (*kvet_cupti_enable_callback)(uint32_t enable, kvet_cupti_subscriber_t subscriber,
                                                        uint32_t domain, uint32_t callback_id);

#endif
