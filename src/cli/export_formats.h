// One function per format of `kvet export`, each in a file of its own.
#pragma once

#include <string>

#include "base/result.h"
#include "model/capture.h"

namespace kvet::cli {

// `output`: the file to write, "" for standard output. Files are written whole or not at all (base/output_file.h); output that
// cannot be written is an internal error, exit status 70.
Result<void> export_perfetto(const Capture& capture, const std::string& output);
Result<void> export_chrome(const Capture& capture, const std::string& output);

}  // namespace kvet::cli
