// What the entries of one process's table mean in the model: strings, devices and shapes, by entry index.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "abi/records.h"
#include "model/event_sink.h"
#include "probes/activity/table.h"
#include "probes/device_directory.h"

namespace kvet::probes {

// Launch shapes of all processes, one id per content.
class ShapeDirectory {
 public:
  ShapeId add(EventSink& sink, const KernelShape& seen);  // `seen.id` is ignored

 private:
  struct Hash {
    size_t operator()(const KernelShape& shape) const;
  };
  struct Same {
    bool operator()(const KernelShape& a, const KernelShape& b) const;
  };
  std::unordered_map<KernelShape, ShapeId, Hash, Same> ids_;
};

class TableEntries {
 public:
  // Reads what is new up to `used` bytes of entries. False: the table is malformed; it is not read any further.
  bool read(EventSink& sink, DeviceDirectory& devices, ShapeDirectory& shapes, const Table& table, uint64_t used);

  [[nodiscard]] std::optional<StringId> string(uint32_t index) const;
  [[nodiscard]] std::optional<ShapeId> shape(uint32_t index) const;
  [[nodiscard]] std::optional<DeviceId> device(uint32_t ordinal) const;
  // Contexts read since they were last taken. Their process is the caller's to fill in, and their device too: an entry
  // may come before the one of its device.
  struct SeenContext {
    Context context;
    uint32_t device_ordinal = 0;
  };
  [[nodiscard]] std::vector<SeenContext> take_contexts() { return std::exchange(contexts_, {}); }
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  struct Meaning {
    uint16_t kind;
    uint32_t id;  // StringId or ShapeId
  };
  bool take(EventSink& sink, DeviceDirectory& devices, ShapeDirectory& shapes, const kvet_entry& entry,
            const unsigned char* bytes);

  std::vector<Meaning> meanings_;  // by index − 1
  std::unordered_map<uint32_t, DeviceId> devices_;
  std::vector<SeenContext> contexts_;
  std::vector<unsigned char> buffer_;
  uint64_t read_ = 0;  // bytes of entries
  bool malformed_ = false;
};

}  // namespace kvet::probes
