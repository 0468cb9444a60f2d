// Gives bytes to the Nsight Systems importer as a file, in memory where the machine has a folder for that. SQLite follows links
// to the name behind a file, and memfd_create's has none.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "fuzz_sink.h"
#include "import/formats.h"

namespace kvet::fuzz {

inline void import_nsys_bytes(const uint8_t* data, size_t size) {
  static std::string path = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/kvet-fuzz-XXXXXX" : "/tmp/kvet-fuzz-XXXXXX";
  static const int file = ::mkstemp(path.data());
  static const int at_exit = std::atexit([] { ::unlink(path.c_str()); });
  if (file < 0 || at_exit != 0 || ::ftruncate(file, 0) != 0 ||
      ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  Sink sink;
  const auto done = importing::import_nsys({path}, sink);
  // A refusal says what, and of which file; a success has kernels.
  if (!done && (done.error().what.empty() || done.error().subject != path)) {
    std::abort();
  }
  if (done && sink.executions == 0) {
    std::abort();
  }
}

}  // namespace kvet::fuzz
