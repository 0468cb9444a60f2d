// A whole file in memory, where files of that kind are small.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace kvet::importing {

// Errors are bad_input: no such file, not a regular file (a pipe may never end), empty, or of more than `most_bytes`. `advice` says what
// to do about one that is too large.
Result<std::string> read_bounded(const std::string& path, size_t most_bytes, const std::string& advice);

}  // namespace kvet::importing
