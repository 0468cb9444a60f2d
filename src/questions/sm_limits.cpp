#include "questions/sm_limits.h"

#include <algorithm>
#include <array>

namespace kvet::questions {
namespace {

// CUDA Programming Guide 13, "Shared Memory Capacity per Compute Capability"; 7.x from the guide of CUDA 12, "Compute
// Capability 7.x, Shared Memory".
constexpr std::array<uint16_t, 6> volta{0, 8, 16, 32, 64, 96};
constexpr std::array<uint16_t, 2> turing{32, 64};
constexpr std::array<uint16_t, 8> of_164{0, 8, 16, 32, 64, 100, 132, 164};
constexpr std::array<uint16_t, 6> of_100{0, 8, 16, 32, 64, 100};
constexpr std::array<uint16_t, 10> of_228{0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

struct Row {
  uint32_t major, minor;
  uint32_t warps, blocks;
  std::span<const uint16_t> carve_outs_kib;
};
// CUDA Programming Guide 13, "Device and Streaming Multiprocessor Information per Compute Capability": maximum resident warps
// and blocks per SM; 7.0 and 7.2, which it no longer has, from CUDA 12's. Registers are 64 Ki per SM in every row. 10.1 is what
// toolkits before CUDA 13 called 11.0.
constexpr std::array<Row, 14> rows{{
    {7, 0, 64, 32, volta},
    {7, 2, 64, 32, volta},
    {7, 5, 32, 16, turing},
    {8, 0, 64, 32, of_164},
    {8, 6, 48, 16, of_100},
    {8, 7, 48, 16, of_164},
    {8, 9, 48, 24, of_100},
    {9, 0, 64, 32, of_228},
    {10, 0, 64, 32, of_228},
    {10, 1, 48, 24, of_228},
    {10, 3, 64, 32, of_228},
    {11, 0, 48, 24, of_228},
    {12, 0, 48, 24, of_100},
    {12, 1, 48, 24, of_100},
}};
constexpr uint32_t registers_per_sm = 65536;

}  // namespace

std::optional<SmLimits> sm_limits(const Device& device) {
  if (device.compute_major < 7 || device.compute_major > 12) {
    return std::nullopt;
  }
  SmLimits limits;
  limits.compute_major = device.compute_major;
  limits.compute_minor = device.compute_minor;
  const auto row = std::ranges::find_if(
      rows, [&](const Row& r) { return r.major == device.compute_major && r.minor == device.compute_minor; });
  if (row != rows.end()) {
    limits.warps = row->warps;
    limits.blocks = row->blocks;
    limits.registers = registers_per_sm;
    limits.shared_bytes = row->carve_outs_kib.back() * 1024u;
    limits.carve_outs_kib = row->carve_outs_kib;
  }
  auto reported = [](uint32_t value, uint32_t& limit) { limit = value != 0 ? value : limit; };
  reported(device.max_warps_per_multiprocessor, limits.warps);
  reported(device.max_blocks_per_multiprocessor, limits.blocks);
  reported(device.max_registers_per_multiprocessor, limits.registers);
  reported(device.max_shared_bytes_per_multiprocessor, limits.shared_bytes);
  if (limits.warps == 0 || limits.blocks == 0 || limits.registers == 0 || limits.shared_bytes == 0) {
    return std::nullopt;
  }
  // From 8.0 on, shared memory is handed out in steps of 128 bytes and the driver keeps 1 KiB of it per block (the guide's table
  // has 1 KiB less per block than per SM); before, in steps of 256 bytes and without a reserve.
  limits.shared_granularity = device.compute_major >= 8 ? 128 : 256;
  limits.shared_reserved = device.compute_major >= 8 ? 1024 : 0;
  return limits;
}

std::optional<uint32_t> carve_out_holding(const SmLimits& limits, uint64_t bytes) {
  for (const uint16_t kib : limits.carve_outs_kib) {
    if (kib * 1024u >= bytes && kib * 1024u <= limits.shared_bytes) {
      return kib * 1024u;
    }
  }
  return bytes <= limits.shared_bytes ? std::optional{limits.shared_bytes} : std::nullopt;
}

double warp_slots(const Device& device) {
  const auto limits = sm_limits(device);
  const double warps = device.max_warps_per_multiprocessor != 0 ? device.max_warps_per_multiprocessor
                       : limits                                 ? limits->warps
                                                                : 0;
  return warps * device.multiprocessors;
}

}  // namespace kvet::questions
