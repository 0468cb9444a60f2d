// kvet's own kernels, as PTX text that the driver compiles for the GPU at hand, and what they write.
//
// Times are %globaltimer: nanoseconds of the GPU's own clock, whose resolution differs by chip (32 ns to 1 µs).
#pragma once

#include <cstdint>
#include <string>

namespace kvet::gpu_work {

// One module with all kernels below.
std::string kernel_text();

// kvet_pulse(uint64_t records, uint64_t duration_ns): the first thread of each block writes one PulseRecord at
// records[block]; every block stays for `duration_ns`. Ends even if the timer stands still: after duration_ns + 65536 polls.
struct PulseRecord {
  uint64_t entry_ns;  // first thing the block did
  uint64_t exit_ns;  // last reading, at or after entry + duration
  uint32_t sm;  // %smid
  uint32_t polls;  // readings of the timer between the two
  uint64_t reserved;
};
static_assert(sizeof(PulseRecord) == 32);

// kvet_handshake(uint64_t page, uint32_t rounds, uint32_t reserved, uint64_t give_up_ns): one thread. In round r = 1, 2, …,
// rounds it waits until page->asked >= r, reads the timer, stores it at times_ns[r - 1], then r at page->answered. It gives up,
// with handshake_over in `answered`, give_up_ns after its start (or when the host stores handshake_over in `asked`).
struct HandshakePage {
  uint64_t asked;  // by the host
  uint64_t padding[15];
  uint64_t answered;  // by the GPU; on a cache line of its own
  uint64_t padding2[15];
  // uint64_t times_ns[rounds] follows
};
static_assert(sizeof(HandshakePage) == 256);
inline constexpr uint64_t handshake_over = ~uint64_t{0};

// The memory kernels: every block's first thread writes a PulseRecord at records[block] (polls stay 0). A vector is 16 bytes; a
// run goes over the vectors `passes` times. Blocks and threads may be any number.
//   kvet_dram_read(records, source, vectors, passes)                     reads `vectors`
//   kvet_dram_write(records, target, vectors, passes)                    writes `vectors`
//   kvet_dram_copy(records, source, target, vectors, passes)             reads and writes `vectors` each
//   kvet_dram_two_to_one(records, first, second, target, vectors, passes)  reads 2 × `vectors`, writes `vectors`
//   kvet_dram_random(records, source, sectors, accesses, seed)           reads `accesses` 32-byte sectors at random;
//                                                                   seeds must differ in their high bits (32 count)
// All arguments are uint64_t.
inline constexpr uint32_t vector_bytes = 16, sector_bytes = 32;

}  // namespace kvet::gpu_work
