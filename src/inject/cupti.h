// The libcupti of the target: found, opened, and its functions looked up. Nothing links against it.
#pragma once

#include "abi/vendor/cupti_activity.h"
#include "abi/vendor/cupti_callbacks.h"

namespace kvet::inject {

struct Cupti {
  void* handle = nullptr;
  uint32_t version = 0;

  // Needed; open() fails without them.
  kvet_cupti_get_version get_version = nullptr;
  kvet_cupti_activity_register_callbacks register_callbacks = nullptr;
  kvet_cupti_activity_register_timestamp_callback register_timestamp_callback = nullptr;
  kvet_cupti_activity_enable enable = nullptr;
  kvet_cupti_activity_disable disable = nullptr;
  kvet_cupti_activity_flush_all flush_all = nullptr;
  kvet_cupti_activity_get_next_record get_next_record = nullptr;
  kvet_cupti_activity_get_num_dropped_records get_num_dropped_records = nullptr;
  kvet_cupti_set_thread_id_type set_thread_id_type = nullptr;
  kvet_cupti_subscribe subscribe = nullptr;
  // Used where they are.
  kvet_cupti_activity_enable_driver_api enable_driver_api = nullptr;
  kvet_cupti_activity_flush_period flush_period = nullptr;
  kvet_cupti_activity_set_attribute set_attribute = nullptr;
  kvet_cupti_enable_callback enable_callback = nullptr;
  kvet_cupti_unsubscribe unsubscribe = nullptr;
};

// Opens `name` (a path or a soname), or with `only_if_mapped` takes it only where the process has it already.
void* open_library(const char* name, bool only_if_mapped);

void* symbol(void* handle, const char* name);

// Calls visit(handle) for each libcupti that may serve, best first, until one returns true: the one that the process has
// mapped already, $KVET_CUPTI_PATH, then the sonames of CUDA 13 and 12. False: none served.
using LibraryVisitor = bool (*)(void* handle, void* data);
bool visit_libraries(const char* cupti_path, LibraryVisitor visit, void* data);

enum class Lookup { complete, too_old };
// Looks up everything in an opened library.
Lookup look_up(void* handle, Cupti* cupti);

}  // namespace kvet::inject
