#include "import/entities.h"

#include <algorithm>

namespace kvet::importing {
namespace {

// All fields but the id. The compiler holds the list against the struct where a field is added: see the binding's count.
auto fields(const KernelShape& shape) {
  const auto& [id, name, grid, block, cluster, registers, fixed, dynamic, executed, local, clusters, hash] = shape;
  static_cast<void>(id);
  return std::tie(name, grid, block, cluster, registers, fixed, dynamic, executed, local, clusters, hash);
}

// FNV-1a over whole words: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv, section 2.
void mix(uint64_t& hash, uint64_t word) {
  hash = (hash ^ word) * 1'099'511'628'211u;
  hash ^= hash >> 32;
}

}  // namespace

size_t Entities::ShapeHash::operator()(const KernelShape& shape) const noexcept {
  uint64_t hash = 14'695'981'039'346'656'037u;
  mix(hash, shape.name.value);
  for (const auto* triple : {&shape.grid, &shape.block, &shape.cluster}) {
    for (const uint32_t size : *triple) {
      mix(hash, size);
    }
  }
  mix(hash, uint64_t{shape.registers_per_thread} << 32 | shape.static_shared_bytes);
  mix(hash, uint64_t{shape.dynamic_shared_bytes} << 32 | shape.shared_executed_bytes);
  mix(hash, uint64_t{shape.local_bytes_per_thread} << 32 | shape.max_active_clusters);
  mix(hash, shape.code_hash);
  return hash;
}

bool Entities::SameShape::operator()(const KernelShape& a, const KernelShape& b) const noexcept {
  return fields(a) == fields(b);
}

ProcessId Entities::process(size_t file, int32_t pid) {
  const auto next = ProcessId{static_cast<uint32_t>(processes_.size())};
  const auto [entry, added] = processes_.try_emplace({file, pid}, next);
  if (added) {
    Process process;
    process.id = next;
    process.pid = pid;
    sink_.on(process);
  }
  return entry->second;
}

void Entities::describe(ProcessId id, const Process& facts) {
  Process process = facts;
  process.id = id;
  sink_.on(process);
}

DeviceId Entities::new_device(const std::array<uint8_t, 16>& uuid) {
  Device device;
  device.id = DeviceId{devices_++};
  device.uuid = uuid;
  sink_.on(device);
  return device.id;
}

DeviceId Entities::device(const std::array<uint8_t, 16>& uuid) {
  if (const auto known = devices_by_uuid_.find(uuid); known != devices_by_uuid_.end()) {
    return known->second;
  }
  return devices_by_uuid_.emplace(uuid, new_device(uuid)).first->second;
}

DeviceId Entities::device(std::string_view place, uint32_t ordinal) {
  const std::pair key{std::string(place), ordinal};
  if (const auto known = devices_by_ordinal_.find(key); known != devices_by_ordinal_.end()) {
    return known->second;
  }
  return devices_by_ordinal_.emplace(key, new_device({})).first->second;
}

void Entities::describe(DeviceId id, const Device& facts) {
  Device device = facts;
  device.id = id;
  sink_.on(device);
}

ShapeId Entities::shape(const KernelShape& shape) {
  KernelShape defined = shape;
  for (auto* size : {&defined.grid, &defined.block}) {
    if (std::ranges::find(*size, 0U) != size->end()) {
      *size = {};  // with one axis unknown, all of it is
    }
  }
  if (const auto known = shapes_.find(defined); known != shapes_.end()) {
    return known->second;
  }
  defined.id = ShapeId{static_cast<uint32_t>(shapes_.size())};
  sink_.on(defined);
  shapes_.emplace(defined, defined.id);
  return defined.id;
}

}  // namespace kvet::importing
