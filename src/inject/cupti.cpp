#include "inject/cupti.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

namespace kvet::inject {
namespace {

struct MappedPath {
  char path[4096];
  bool found;
};

int remember_cupti(dl_phdr_info* info, size_t, void* data) {
  auto* mapped = static_cast<MappedPath*>(data);
  const char* path = info->dlpi_name;
  if (path == nullptr || *path == '\0') {
    return 0;
  }
  const char* slash = strrchr(path, '/');
  const char* file = slash == nullptr ? path : slash + 1;
  constexpr char stem[] = "libcupti.so";
  const size_t length = strlen(path);
  if (strncmp(file, stem, sizeof(stem) - 1) != 0 || length >= sizeof(mapped->path)) {
    return 0;
  }
  memcpy(mapped->path, path, length + 1);
  mapped->found = true;
  return 1;
}

template <class Function>
bool find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  return *function != nullptr;
}

}  // namespace

void* open_library(const char* name, bool only_if_mapped) {
  // RTLD_LOCAL: the target's own symbol lookups must not begin to find libcupti.
  return dlopen(name, RTLD_LAZY | RTLD_LOCAL | (only_if_mapped ? RTLD_NOLOAD : 0));
}

void* symbol(void* handle, const char* name) { return dlsym(handle, name); }

bool visit_libraries(const char* cupti_path, LibraryVisitor visit, void* data) {
  MappedPath mapped{};  // not static: the first NVTX call and cuInit may come from two threads at once
  dl_iterate_phdr(remember_cupti, &mapped);
  void* first = mapped.found ? open_library(mapped.path, true) : nullptr;
  if (first != nullptr) {
    // A second libcupti beside one that the target uses would be a second profiler: this one or none.
    return visit(first, data);
  }
  const char* const names[] = {cupti_path, "libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  for (const char* name : names) {
    void* handle = name == nullptr || *name == '\0' ? nullptr : open_library(name, false);
    if (handle != nullptr && visit(handle, data)) {
      return true;
    }
  }
  return false;
}

Lookup look_up(void* handle, Cupti* cupti) {
  *cupti = Cupti{};
  cupti->handle = handle;
  bool all = find(handle, "cuptiGetVersion", &cupti->get_version);
  if (!all || cupti->get_version(&cupti->version) != KVET_CUPTI_SUCCESS ||
      cupti->version < KVET_CUPTI_VERSION_MINIMUM) {
    return Lookup::too_old;
  }
  all &= find(handle, "cuptiActivityRegisterCallbacks", &cupti->register_callbacks);
  all &= find(handle, "cuptiActivityRegisterTimestampCallback", &cupti->register_timestamp_callback);
  all &= find(handle, "cuptiActivityEnable", &cupti->enable);
  all &= find(handle, "cuptiActivityDisable", &cupti->disable);
  all &= find(handle, "cuptiActivityFlushAll", &cupti->flush_all);
  all &= find(handle, "cuptiActivityGetNextRecord", &cupti->get_next_record);
  all &= find(handle, "cuptiActivityGetNumDroppedRecords", &cupti->get_num_dropped_records);
  all &= find(handle, "cuptiSetThreadIdType", &cupti->set_thread_id_type);
  all &= find(handle, "cuptiSubscribe", &cupti->subscribe);
  find(handle, "cuptiActivityEnableDriverApi", &cupti->enable_driver_api);
  find(handle, "cuptiActivityFlushPeriod", &cupti->flush_period);
  find(handle, "cuptiActivitySetAttribute", &cupti->set_attribute);
  find(handle, "cuptiEnableCallback", &cupti->enable_callback);
  find(handle, "cuptiUnsubscribe", &cupti->unsubscribe);
  return all ? Lookup::complete : Lookup::too_old;
}

}  // namespace kvet::inject
