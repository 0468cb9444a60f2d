#include "probes/device_directory.h"

namespace kvet::probes {
namespace {

// Fills what was unknown; true if it learned something.
template <class T>
bool learn(T& known, const T& seen) {
  if (known != T{} || seen == T{}) {
    return false;
  }
  known = seen;
  return true;
}

bool merge(Device& known, const Device& seen) {
  bool changed = false;
  changed |= learn(known.name, seen.name);
  if (known.compute_major == 0 && seen.compute_major != 0) {  // major and minor only make sense together
    known.compute_major = seen.compute_major;
    known.compute_minor = seen.compute_minor;
    changed = true;
  }
  changed |= learn(known.multiprocessors, seen.multiprocessors);
  changed |= learn(known.max_warps_per_multiprocessor, seen.max_warps_per_multiprocessor);
  changed |= learn(known.max_blocks_per_multiprocessor, seen.max_blocks_per_multiprocessor);
  changed |= learn(known.max_registers_per_multiprocessor, seen.max_registers_per_multiprocessor);
  changed |= learn(known.max_shared_bytes_per_multiprocessor, seen.max_shared_bytes_per_multiprocessor);
  changed |= learn(known.max_shared_bytes_per_block, seen.max_shared_bytes_per_block);
  changed |= learn(known.memory_bytes, seen.memory_bytes);
  changed |= learn(known.memory_bandwidth_bytes_per_s, seen.memory_bandwidth_bytes_per_s);
  changed |= learn(known.l2_bytes, seen.l2_bytes);
  changed |= learn(known.driver_version, seen.driver_version);
  changed |= learn(known.power_limit_milliwatts, seen.power_limit_milliwatts);
  changed |= learn(known.mig, seen.mig);
  return changed;
}

}  // namespace

DeviceId DeviceDirectory::add(EventSink& sink, const Device& seen) {
  if (auto id = find(seen.uuid)) {
    Device& known = devices_[id->value];
    if (merge(known, seen)) {
      sink.on(known);
    }
    return *id;
  }
  Device device = seen;
  device.id = DeviceId{static_cast<uint32_t>(devices_.size())};
  devices_.push_back(device);
  sink.on(device);
  return device.id;
}

std::optional<DeviceId> DeviceDirectory::find(const Uuid& uuid) const {
  for (const Device& device : devices_) {
    if (device.uuid == uuid) {
      return device.id;
    }
  }
  return std::nullopt;
}

}  // namespace kvet::probes
