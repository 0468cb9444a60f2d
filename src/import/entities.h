// Hands out the ids of processes, devices and kernel shapes for one import of several files, and defines each in the sink
// before it is given to anybody.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/event_sink.h"

namespace kvet::importing {

class Entities {
 public:
  explicit Entities(EventSink& sink) : sink_(sink) {}

  // One process per (file, pid): pids of different hosts mean nothing to each other. `file` counts from 0 in one import.
  ProcessId process(size_t file, int32_t pid);
  // Facts that a file tells late (its name). `facts.id` is ignored.
  void describe(ProcessId id, const Process& facts);

  // One device per UUID. Without one: per (place, ordinal), where the place is the host if the file names it, else whatever
  // stands for the file; ordinals of two processes on one host may mean two devices, so a host is given only where the file's
  // ordinals are the host's own. A device without a UUID keeps 16 zero bytes.
  DeviceId device(const std::array<uint8_t, 16>& uuid);
  DeviceId device(std::string_view place, uint32_t ordinal);
  // What is known of it, whole: replaces what was said before. `facts.id` is ignored.
  void describe(DeviceId id, const Device& facts);

  // One shape per value of all fields. `shape.id` is ignored.
  ShapeId shape(const KernelShape& shape);

  [[nodiscard]] uint32_t devices() const { return devices_; }

 private:
  DeviceId new_device(const std::array<uint8_t, 16>& uuid);

  struct ShapeHash {
    size_t operator()(const KernelShape& shape) const noexcept;
  };
  struct SameShape {
    bool operator()(const KernelShape& a, const KernelShape& b) const noexcept;
  };

  EventSink& sink_;
  std::map<std::pair<size_t, int32_t>, ProcessId> processes_;
  std::map<std::array<uint8_t, 16>, DeviceId> devices_by_uuid_;
  std::map<std::pair<std::string, uint32_t>, DeviceId, std::less<>> devices_by_ordinal_;
  uint32_t devices_ = 0;
  std::unordered_map<KernelShape, ShapeId, ShapeHash, SameShape> shapes_;
};

}  // namespace kvet::importing
