// What the recorder tells the library, through the environment of the target.
#pragma once

#include <cstdint>

namespace kvet::inject {

struct Settings {
  uint32_t wait_ms = 0;         // KVET_WAIT_MS: how long to wait for the probe's reader at start-up; at most 200
  uint32_t flush_ms = 100;      // KVET_FLUSH_MS: how often partly filled buffers are asked for; 0: never
  uint32_t reader_patience_ms = 30'000;  // KVET_READER_PATIENCE_MS: without a reader for so long, CUPTI is switched off
  uint32_t buffer_kib = 128;  // KVET_BUFFER_KIB: size of one CUPTI activity buffer, 16 to 8192
  bool discard = false;  // KVET_DISCARD=1: collect and throw away, to measure CUPTI's own cost
  bool copy_calls = false;  // KVET_COPY_CALLS=1: asynchronous copies as API calls too
  bool code_hash = true;  // KVET_CODE_HASH=0: do not look at kernel code
  int memory_descriptor = -1;  // KVET_MEMORY_FD: the memory-file tier
  const char* memory_path = nullptr;  // KVET_MEMORY_PATH: the same file, for targets whose descriptors were closed
  const char* cupti_path = nullptr;  // KVET_CUPTI_PATH: tried after a libcupti that is mapped already
};

Settings read_settings();

// The number that `text` is as a whole, or `otherwise`; never above `most`.
uint32_t number(const char* text, uint32_t otherwise, uint32_t most);

}  // namespace kvet::inject
