// kvet doctor --calibrate: measures every GPU that CUDA shows, and keeps what was measured.
#pragma once

#include <string>

namespace kvet::cli {

// Errors go to stderr, one line per GPU, progress too where it is a terminal. Returns the exit status: 0 where every GPU was
// measured and its file written.
[[nodiscard]] int calibrate_gpus(const std::string& driver_version);

}  // namespace kvet::cli
