// NVTX: CUPTI is the library that NVTX loads, and turns ranges into MARKER records. The protocol is that of NVTX 3
// (nvtxTypes.h): the application hands over tables of slots, which are filled with our functions.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "cupti/cupti.h"
#include "device/shared_world.h"

namespace simcuda::cupti {
namespace {

enum { export_table_callbacks = 1, module_core = 1, module_core2 = 5 };
enum Core { range_start_ex = 4, range_start_a = 5, range_end = 7, range_push_ex = 8, range_push_a = 9, range_pop = 11 };
enum Core2 {
  domain_range_start_ex = 2,
  domain_range_end = 3,
  domain_range_push_ex = 4,
  domain_range_pop = 5,
  domain_register_string_a = 10,
  domain_create_a = 12
};

using Slot = void (*)();
struct ExportTable {
  size_t struct_size;
  int (*get_module_function_table)(int module, Slot*** table, unsigned* size);
};

struct Attributes {  // nvtxEventAttributes_t
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;  // 1: text, 3: a registered string
  int32_t padding;
  const void* message;
};

// Texts live as long as the process, as the records that point to them may.
const char* keep(const char* text) {
  static auto* texts = new std::set<std::string>;
  static auto* mutex = new std::mutex;
  std::lock_guard guard(*mutex);
  return texts->insert(text).first->c_str();
}

const char* message_of(const Attributes* attributes) {
  if (attributes == nullptr || attributes->message == nullptr) {
    return "";
  }
  const auto* text = static_cast<const char*>(attributes->message);  // a registered string's handle is its kept text
  return attributes->message_type == 1 ? keep(text) : attributes->message_type == 3 ? text : "";
}

std::atomic<uint32_t> next_id{1};
thread_local std::vector<uint32_t> open_ranges;

void queue_marker(uint32_t id, uint32_t flag, const char* name, const char* domain) {
  if (!options().is_enabled(KVET_CUPTI_ACTIVITY_MARKER)) {
    return;
  }
  kvet_cupti_marker marker{};
  marker.kind = KVET_CUPTI_ACTIVITY_MARKER;
  marker.flags = flag;
  marker.timestamp = static_cast<uint64_t>(monotonic_ns() + options().clock_offset_ns);
  marker.id = id;
  marker.object_kind = KVET_CUPTI_OBJECT_THREAD;
  marker.object_id.process_or_device = static_cast<uint32_t>(getpid());
  marker.object_id.thread_or_context = static_cast<uint32_t>(syscall(SYS_gettid));
  marker.name = name;
  marker.domain = domain;
  Record record;
  record.size = sizeof marker;
  std::memcpy(record.bytes, &marker, sizeof marker);
  push(record);
}

int push_range(const char* name, const char* domain) {
  open_ranges.push_back(next_id++);
  queue_marker(open_ranges.back(), KVET_CUPTI_MARKER_START, name, domain);
  return static_cast<int>(open_ranges.size()) - 1;
}
int pop_range(const char* domain) {
  if (open_ranges.empty()) {
    return -2;  // NVTX_NO_PUSH_POP_TRACKING
  }
  queue_marker(open_ranges.back(), KVET_CUPTI_MARKER_END, nullptr, domain);
  open_ranges.pop_back();
  return static_cast<int>(open_ranges.size());
}
uint64_t start_range(const char* name, const char* domain) {
  uint32_t id = next_id++;
  queue_marker(id, KVET_CUPTI_MARKER_START, name, domain);
  return id;
}
void end_range(uint64_t id, const char* domain) {
  queue_marker(static_cast<uint32_t>(id), KVET_CUPTI_MARKER_END, nullptr, domain);
}

// A domain's handle is its kept name.
int on_push_a(const char* text) { return push_range(keep(text), nullptr); }
int on_push_ex(const Attributes* attributes) { return push_range(message_of(attributes), nullptr); }
int on_pop() { return pop_range(nullptr); }
uint64_t on_start_a(const char* text) { return start_range(keep(text), nullptr); }
uint64_t on_start_ex(const Attributes* attributes) { return start_range(message_of(attributes), nullptr); }
void on_end(uint64_t id) { end_range(id, nullptr); }
const char* on_domain_create(const char* name) { return keep(name); }
const char* on_register_string(const char*, const char* text) { return keep(text); }
int on_domain_push(const char* domain, const Attributes* attributes) {
  return push_range(message_of(attributes), domain);
}
int on_domain_pop(const char* domain) { return pop_range(domain); }
uint64_t on_domain_start(const char* domain, const Attributes* attributes) {
  return start_range(message_of(attributes), domain);
}
void on_domain_end(const char* domain, uint64_t id) { end_range(id, domain); }

template <class Function>
void fill(Slot** table, unsigned size, unsigned slot, Function function) {
  if (slot < size && table[slot] != nullptr) {
    *table[slot] = reinterpret_cast<Slot>(function);
  }
}

}  // namespace

// A CUptiResult, as the real one answers: 0 is success, unlike in NVTX's own interface below.
SIMCUDA_API int cuptiNvtxInitialize2(void* get_export_table) {
  auto get = reinterpret_cast<const void* (*)(uint32_t)>(get_export_table);
  const auto* callbacks = get == nullptr ? nullptr : static_cast<const ExportTable*>(get(export_table_callbacks));
  if (callbacks == nullptr || callbacks->get_module_function_table == nullptr) {
    return 1;  // CUPTI_ERROR_INVALID_PARAMETER
  }
  Slot** table = nullptr;
  unsigned size = 0;
  if (callbacks->get_module_function_table(module_core, &table, &size) != 0) {
    fill(table, size, range_start_ex, on_start_ex);
    fill(table, size, range_start_a, on_start_a);
    fill(table, size, range_end, on_end);
    fill(table, size, range_push_ex, on_push_ex);
    fill(table, size, range_push_a, on_push_a);
    fill(table, size, range_pop, on_pop);
  }
  if (callbacks->get_module_function_table(module_core2, &table, &size) != 0) {
    fill(table, size, domain_range_start_ex, on_domain_start);
    fill(table, size, domain_range_end, on_domain_end);
    fill(table, size, domain_range_push_ex, on_domain_push);
    fill(table, size, domain_range_pop, on_domain_pop);
    fill(table, size, domain_register_string_a, on_register_string);
    fill(table, size, domain_create_a, on_domain_create);
  }
  return 0;
}

// libcupti itself may be named by NVTX_INJECTION64_PATH. NVTX takes 0 for failure and then drops every range.
SIMCUDA_API int InitializeInjectionNvtx2(void* get_export_table) {
  return cuptiNvtxInitialize2(get_export_table) == 0 ? 1 : 0;
}

}  // namespace simcuda::cupti
