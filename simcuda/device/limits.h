// The device that simcuda models: the limits of an H200 (compute capability 9.0, CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability"), and round figures for what no specification gives.
#pragma once

#include <cstdint>

namespace simcuda {

inline constexpr uint32_t multiprocessors = 132;
inline constexpr uint32_t threads_per_warp = 32;
inline constexpr uint32_t warps_per_multiprocessor = 64;
inline constexpr uint32_t blocks_per_multiprocessor = 32;
inline constexpr uint32_t registers_per_multiprocessor = 65536;
inline constexpr uint32_t registers_per_block = 65536;
inline constexpr uint32_t register_allocation_unit = 8;  // per thread, rounded up
inline constexpr uint32_t shared_bytes_per_multiprocessor = 228 * 1024;
inline constexpr uint32_t shared_bytes_per_block = 227 * 1024;  // with the opt-in attribute
inline constexpr uint32_t reserved_shared_bytes_per_block = 1024;
inline constexpr uint32_t shared_allocation_unit = 128;
inline constexpr uint32_t threads_per_block = 1024;

inline constexpr uint64_t memory_bytes = 141ull << 30;
inline constexpr uint32_t l2_bytes = 50u << 20;
inline constexpr double dram_bytes_per_ns = 4800.0;
inline constexpr double host_link_bytes_per_ns = 50.0;  // one copy engine over PCIe 5
inline constexpr double clock_cycles_per_ns = 1.755;

// From the launch call to the earliest start on an idle stream, and between two operations of one stream.
inline constexpr int64_t launch_latency_ns = 3000;
inline constexpr int64_t stream_gap_ns = 700;
// What a stream holds before a launch call waits (back-pressure), as real queues do at about this depth.
inline constexpr uint32_t stream_depth = 1024;

}  // namespace simcuda
