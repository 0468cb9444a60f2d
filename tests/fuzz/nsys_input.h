// Gives bytes to the Nsight Systems importer as a file that exists in memory alone.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "fuzz_sink.h"
#include "import/formats.h"

namespace kvet::fuzz {

inline void import_nsys_bytes(const uint8_t* data, size_t size) {
  static const int file = ::memfd_create("input", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) {
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
