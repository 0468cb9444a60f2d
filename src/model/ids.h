// Typed indices: the id of one kind of thing cannot be passed for another's.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace kvet {

template <class Tag>
struct Id {
  uint32_t value = 0;
  friend constexpr auto operator<=>(Id, Id) = default;
};

// Ids count from 0 and index the vectors of Capture (model/capture.h), in which they are dense.
using StringId = Id<struct StringTag>;    // an interned string; 0 is ""
using ProcessId = Id<struct ProcessTag>;  // one process of the target tree (not its pid: pids are reused)
using DeviceId = Id<struct DeviceTag>;    // one GPU, by UUID: ordinals are process-local
using ShapeId = Id<struct ShapeTag>;      // one kernel name with one launch configuration

}  // namespace kvet

template <class Tag>
struct std::hash<kvet::Id<Tag>> {
  size_t operator()(kvet::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.value); }
};
