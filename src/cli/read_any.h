// Reads a capture, or another tool's file as if it were one.
#pragma once

#include <string>

#include "base/result.h"
#include "model/capture.h"

namespace kvet::cli {

// Errors are bad_input, as store::read_capture and importing::import_file give them.
Result<Capture> read_any(const std::string& path);

}  // namespace kvet::cli
