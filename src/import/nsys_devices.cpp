#include "import/nsys_devices.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

#include "import/nsys_rows.h"

namespace kvet::importing {
namespace {

// Far above any machine. Questions pass over all events once per device, so a file must not have a million of them.
constexpr uint32_t most_devices = 256;

// "GPU-5c9a5380-d76d-414b-3975-82bcaebbab73", with or without the prefix. Zeros: not a UUID.
std::array<uint8_t, 16> uuid_of(std::string_view text) {
  std::array<uint8_t, 16> uuid{};
  for (const std::string_view prefix : {"GPU-", "MIG-"}) {
    text.remove_prefix(text.starts_with(prefix) ? prefix.size() : 0);
  }
  size_t digits = 0;
  for (const char c : text) {
    if (c == '-') {
      continue;
    }
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0 || digits == 2 * uuid.size()) {
      return {};
    }
    uuid[digits / 2] = static_cast<uint8_t>(uuid[digits / 2] << 4 | digit);
    ++digits;
  }
  return digits == 2 * uuid.size() ? uuid : std::array<uint8_t, 16>{};
}

}  // namespace

Result<NsysDevices> NsysDevices::read(const NsysFile& file, EventSink& sink, Entities& entities) {
  NsysDevices devices(file, entities);
  if (auto read = devices.read_gpus(file, sink); !read) {
    return std::unexpected(read.error());
  }
  if (auto read = devices.read_ordinals(file); !read) {
    return std::unexpected(read.error());
  }
  return devices;
}

Result<void> NsysDevices::read_gpus(const NsysFile& file, EventSink& sink) {
  if (!file.has("TARGET_INFO_GPU", "id")) {
    return {};
  }
  auto rows =
      NsysRows::select(file, "TARGET_INFO_GPU",
                       {"vmId", "id", "name", "uuid", "smCount", "computeMajor", "computeMinor", "maxWarpsPerSm",
                        "maxBlocksPerSm", "maxRegistersPerSm", "maxShmemPerSm", "maxShmemPerBlockOptin",
                        "maxShmemPerBlock", "totalMemory", "memoryBandwidth", "l2CacheSize", "cuDevice"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (gpus_.size() < most_devices && rows->next()) {
    const auto machine = static_cast<uint32_t>(static_cast<uint64_t>(rows->integer(0).value_or(0)) >> 48);
    const auto id = rows->integer(1);
    if (!id) {
      continue;
    }
    Gpu gpu;
    if (const auto name = rows->text(2)) {
      gpu.facts.name = sink.intern(name->substr(0, 1000));
    }
    if (const auto uuid = rows->text(3)) {
      gpu.facts.uuid = uuid_of(*uuid);
    }
    const auto take = [&](size_t column, auto& into) {
      into = rows->number<std::remove_reference_t<decltype(into)>>(column).value_or(0);
    };
    take(4, gpu.facts.multiprocessors);
    take(5, gpu.facts.compute_major);
    take(6, gpu.facts.compute_minor);
    take(7, gpu.facts.max_warps_per_multiprocessor);
    take(8, gpu.facts.max_blocks_per_multiprocessor);
    take(9, gpu.facts.max_registers_per_multiprocessor);
    take(10, gpu.facts.max_shared_bytes_per_multiprocessor);
    take(11, gpu.facts.max_shared_bytes_per_block);
    if (gpu.facts.max_shared_bytes_per_block == 0) {
      take(12, gpu.facts.max_shared_bytes_per_block);
    }
    take(13, gpu.facts.memory_bytes);
    take(14, gpu.facts.memory_bandwidth_bytes_per_s);
    take(15, gpu.facts.l2_bytes);
    gpu.ordinal = rows->integer(16);
    gpus_.insert_or_assign(Key{machine, *id}, gpu);
  }
  return rows->end();
}

Result<void> NsysDevices::read_ordinals(const NsysFile& file) {
  constexpr std::string_view table = "TARGET_INFO_CUDA_DEVICE";
  if (!file.has(table, "gpuId") || !file.has(table, "cudaId") || !file.has(table, "pid")) {
    return {};
  }
  auto rows = NsysRows::select(file, table, {"gpuId", "cudaId", "pid"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (rows->next()) {
    const auto gpu = rows->integer(0), ordinal = rows->integer(1);
    const auto pid = rows->number<int32_t>(2);
    if (gpu && ordinal && pid) {
      gpu_of_.insert_or_assign({*pid, *ordinal}, *gpu);
    }
  }
  return rows->end();
}

std::optional<NsysDevices::Key> NsysDevices::find(uint32_t machine, int32_t pid, uint32_t ordinal) const {
  if (const auto mapped = gpu_of_.find({pid, ordinal}); mapped != gpu_of_.end()) {
    if (const Key key{machine, mapped->second}; gpus_.contains(key)) {
      return key;
    }
  }
  for (const auto& [key, gpu] : gpus_) {
    if (key.first == machine && gpu.ordinal == int64_t{ordinal}) {
      return key;
    }
  }
  const Key key{machine, ordinal};
  return gpus_.contains(key) ? std::optional(key) : std::nullopt;
}

const Device* NsysDevices::facts(uint32_t machine, int64_t gpu) const {
  const auto found = gpus_.find(Key{machine, gpu});
  return found == gpus_.end() ? nullptr : &found->second.facts;
}

std::optional<DeviceId> NsysDevices::of_gpu(uint32_t machine, int64_t gpu) {
  const auto found = gpus_.find(Key{machine, gpu});
  if (found == gpus_.end()) {
    return std::nullopt;
  }
  Gpu& known = found->second;
  if (!known.id) {
    const bool has_uuid = known.facts.uuid != std::array<uint8_t, 16>{};
    known.id = has_uuid
                   ? entities_->device(known.facts.uuid)
                   : entities_->device(fmt::format("{} machine {} GPU", place_, machine), static_cast<uint32_t>(gpu));
    entities_->describe(*known.id, known.facts);
  }
  return known.id;
}

std::optional<DeviceId> NsysDevices::of(uint32_t machine, int32_t pid, uint32_t ordinal) {
  if (const auto gpu = find(machine, pid, ordinal)) {
    return of_gpu(gpu->first, gpu->second);
  }
  if (const auto known = unknown_.find({machine, ordinal}); known != unknown_.end()) {
    return known->second;
  }
  if (entities_->devices() >= most_devices) {
    return std::nullopt;
  }
  const DeviceId id = entities_->device(fmt::format("{} machine {}", place_, machine), ordinal);
  unknown_.emplace(std::pair{machine, ordinal}, id);
  return id;
}

}  // namespace kvet::importing
