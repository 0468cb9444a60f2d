// Reads a capture file into memory. The file may come from a stranger: nothing in it is trusted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/capture.h"

namespace kvet::store {

// Errors are bad_input: not a capture, truncated, of a newer version (both versions named), values out of range.
// An incomplete file is read with its WAL and has complete == false. Clock mappings are applied; events are sorted.
Result<Capture> read_capture(const std::string& path);

// Adds or replaces facts of a finished capture (validate: which arm, which quad, which window).
Result<void> annotate(const std::string& path, const std::vector<Meta>& facts);

}  // namespace kvet::store
