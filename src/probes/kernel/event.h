// Takes one event of a known kind out of ring-buffer bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "abi/bpf_events.h"

namespace kvet::probes {

template <class Event>
std::optional<Event> take_event(std::span<const std::byte> bytes, kvet_event_kind kind) {
  Event event;
  if (bytes.size() < sizeof event) {
    return std::nullopt;
  }
  std::memcpy(&event, bytes.data(), sizeof event);
  if (event.header.kind != static_cast<uint32_t>(kind) || event.header.size != sizeof event) {
    return std::nullopt;
  }
  return event;
}

// A name that the kernel keeps in a fixed field, terminated or not.
template <size_t size>
std::string_view fixed_text(const char (&field)[size]) {
  return {field, strnlen(field, size)};
}

}  // namespace kvet::probes
