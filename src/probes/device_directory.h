// One list of GPUs for the whole recording. Several sources see the same GPU, each with its own ordinals and each
// knowing part of its attributes; the UUID says which GPU it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/event_sink.h"

namespace kvet::probes {

class DeviceDirectory {
 public:
  using Uuid = std::array<uint8_t, 16>;

  // The id of the GPU whose uuid is `seen.uuid` (`seen.id` is ignored). An attribute that is 0 or empty in `seen` is
  // unknown; one that two sources give differently keeps the first value. The sink gets a Device when the GPU is new or
  // something about it became known. `seen`'s strings must be interned in the same sink. Not thread-safe, as sinks are.
  DeviceId add(EventSink& sink, const Device& seen);

  [[nodiscard]] std::optional<DeviceId> find(const Uuid& uuid) const;
  [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }  // by DeviceId

 private:
  std::vector<Device> devices_;
};

}  // namespace kvet::probes
