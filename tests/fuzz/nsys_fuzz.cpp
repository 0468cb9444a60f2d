// Nsight Systems exports: the bytes are the SQLite file.
#include <cstddef>
#include <cstdint>

#include "nsys_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kvet::fuzz::import_nsys_bytes(data, size);
  return 0;
}
