#include "probes/activity/entries.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <tuple>

namespace kvet::probes {
namespace {

constexpr uint64_t entries_limit = KVET_TABLE_BYTES - sizeof(kvet_table);
constexpr uint32_t largest_string = 65'536;
// The largest entry there can be: anything longer is malformed.
constexpr uint32_t largest_entry = sizeof(kvet_entry_string) + largest_string + 8;

auto content(const KernelShape& s) {
  return std::tie(s.name.value, s.grid, s.block, s.cluster, s.registers_per_thread, s.static_shared_bytes,
                  s.dynamic_shared_bytes, s.shared_executed_bytes, s.local_bytes_per_thread, s.max_active_clusters,
                  s.code_hash);
}

template <class Entry>
std::optional<Entry> fixed(const kvet_entry& entry, const unsigned char* bytes) {
  if (entry.size < sizeof(Entry)) {
    return std::nullopt;
  }
  Entry copy;
  memcpy(&copy, bytes, sizeof(copy));
  return copy;
}

Context context_of(const kvet_entry_context& seen) {
  Context context;
  context.context_id = seen.context_id;
  context.sharing = seen.sharing == KVET_CONTEXT_MPS           ? ContextSharing::mps
                    : seen.sharing == KVET_CONTEXT_TIME_SLICED ? ContextSharing::time_sliced
                                                               : ContextSharing::unknown;
  context.green = seen.green == 1;
  context.parent_context_id = seen.parent_context_id;
  if (seen.multiprocessors != 0) {
    context.multiprocessors = seen.multiprocessors;
  }
  if (seen.thread_centipercent != 0 && seen.thread_centipercent <= 10'000) {
    context.mps_thread_percent = static_cast<double>(seen.thread_centipercent) / 100;
  }
  return context;
}

}  // namespace

size_t ShapeDirectory::Hash::operator()(const KernelShape& s) const {
  size_t value = 0;
  const auto mix = [&](uint64_t part) { value = (value ^ part) * 0x9e3779b97f4a7c15u + (value >> 29); };
  mix(s.name.value);
  for (int i = 0; i < 3; ++i) {
    mix(uint64_t{s.grid[static_cast<size_t>(i)]} << 32 | s.block[static_cast<size_t>(i)]);
    mix(s.cluster[static_cast<size_t>(i)]);
  }
  mix(uint64_t{s.registers_per_thread} << 32 | s.static_shared_bytes);
  mix(uint64_t{s.dynamic_shared_bytes} << 32 | s.shared_executed_bytes);
  mix(uint64_t{s.local_bytes_per_thread} << 32 | s.max_active_clusters);
  mix(s.code_hash);
  return value;
}

bool ShapeDirectory::Same::operator()(const KernelShape& a, const KernelShape& b) const {
  return content(a) == content(b);
}

ShapeId ShapeDirectory::add(EventSink& sink, const KernelShape& seen) {
  KernelShape shape = seen;
  shape.id = ShapeId{static_cast<uint32_t>(ids_.size())};
  const auto [found, is_new] = ids_.try_emplace(shape, shape.id);
  if (is_new) {
    sink.on(shape);
  }
  return found->second;
}

bool TableEntries::read(EventSink& sink, DeviceDirectory& devices, ShapeDirectory& shapes, const Table& table,
                        uint64_t used) {
  used = std::min(used, entries_limit);
  while (!malformed_ && read_ < used) {
    // The header of one entry, then the whole entry, each copied before it is looked at: the target may be writing.
    kvet_entry entry{};
    if (used - read_ < sizeof(entry) || !table.read(sizeof(kvet_table) + read_, &entry, sizeof(entry)) ||
        entry.size < sizeof(entry) || entry.size % 8 != 0 || entry.size > largest_entry || entry.size > used - read_ ||
        entry.index != meanings_.size() + 1) {
      malformed_ = true;
      break;
    }
    buffer_.resize(entry.size);
    if (!table.read(sizeof(kvet_table) + read_, buffer_.data(), entry.size)) {
      malformed_ = true;
      break;
    }
    memcpy(buffer_.data(), &entry, sizeof(entry));  // what was checked is what is used
    if (!take(sink, devices, shapes, entry, buffer_.data())) {
      malformed_ = true;
      break;
    }
    read_ += entry.size;
  }
  return !malformed_;
}

bool TableEntries::take(EventSink& sink, DeviceDirectory& devices, ShapeDirectory& shapes, const kvet_entry& entry,
                        const unsigned char* bytes) {
  switch (entry.kind) {
    case KVET_ENTRY_STRING: {
      const auto head = fixed<kvet_entry_string>(entry, bytes);
      if (!head || head->length > largest_string || head->length > entry.size - sizeof(kvet_entry_string)) {
        return false;
      }
      const auto* text = reinterpret_cast<const char*>(bytes) + sizeof(kvet_entry_string);
      meanings_.push_back({entry.kind, sink.intern(std::string_view{text, head->length}).value});
      return true;
    }
    case KVET_ENTRY_SHAPE: {
      const auto seen = fixed<kvet_entry_shape>(entry, bytes);
      const auto name = seen ? string(seen->name) : std::nullopt;
      if (!name) {
        return false;
      }
      KernelShape shape;
      shape.name = *name;
      std::copy_n(seen->grid, 3, shape.grid.begin());
      std::copy_n(seen->block, 3, shape.block.begin());
      std::copy_n(seen->cluster, 3, shape.cluster.begin());
      shape.registers_per_thread = seen->registers_per_thread;
      shape.static_shared_bytes = seen->static_shared_bytes;
      shape.dynamic_shared_bytes = seen->dynamic_shared_bytes;
      shape.shared_executed_bytes = seen->shared_executed_bytes;
      shape.local_bytes_per_thread = seen->local_bytes_per_thread;
      shape.max_active_clusters = seen->max_active_clusters;
      shape.code_hash = seen->code_hash;
      meanings_.push_back({entry.kind, shapes.add(sink, shape).value});
      return true;
    }
    case KVET_ENTRY_DEVICE: {
      const auto seen = fixed<kvet_entry_device>(entry, bytes);
      if (!seen) {
        return false;
      }
      Device device;
      std::copy_n(seen->uuid, device.uuid.size(), device.uuid.begin());
      device.name = string(seen->name).value_or(StringId{});
      device.compute_major = seen->compute_major;
      device.compute_minor = seen->compute_minor;
      device.multiprocessors = seen->multiprocessors;
      device.max_warps_per_multiprocessor = seen->max_warps_per_multiprocessor;
      device.max_blocks_per_multiprocessor = seen->max_blocks_per_multiprocessor;
      device.max_registers_per_multiprocessor = seen->max_registers_per_multiprocessor;
      device.max_shared_bytes_per_multiprocessor = seen->max_shared_bytes_per_multiprocessor;
      device.max_shared_bytes_per_block = seen->max_shared_bytes_per_block;
      device.memory_bytes = seen->memory_bytes;
      device.memory_bandwidth_bytes_per_s = std::min<uint64_t>(seen->memory_bandwidth_kb_per_s, 1ull << 50) * 1000;
      device.l2_bytes = seen->l2_bytes;
      device.mig = seen->mig == 1;
      devices_[seen->ordinal] = devices.add(sink, device);
      meanings_.push_back({entry.kind, 0});
      return true;
    }
    case KVET_ENTRY_CONTEXT: {
      const auto seen = fixed<kvet_entry_context>(entry, bytes);
      if (!seen) {
        return false;
      }
      contexts_.push_back({context_of(*seen), seen->device_ordinal});
      meanings_.push_back({entry.kind, 0});
      return true;
    }
    case KVET_ENTRY_STREAM: meanings_.push_back({entry.kind, 0}); return true;
    default: return false;
  }
}

std::optional<StringId> TableEntries::string(uint32_t index) const {
  if (index == 0 || index > meanings_.size() || meanings_[index - 1].kind != KVET_ENTRY_STRING) {
    return std::nullopt;
  }
  return StringId{meanings_[index - 1].id};
}

std::optional<ShapeId> TableEntries::shape(uint32_t index) const {
  if (index == 0 || index > meanings_.size() || meanings_[index - 1].kind != KVET_ENTRY_SHAPE) {
    return std::nullopt;
  }
  return ShapeId{meanings_[index - 1].id};
}

std::optional<DeviceId> TableEntries::device(uint32_t ordinal) const {
  const auto found = devices_.find(ordinal);
  return found == devices_.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace kvet::probes
