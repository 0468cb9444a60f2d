// Opens what is to be read, and only what can be read to an end.
#pragma once

#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace kvet {

// An existing regular file, to be read. Never waits, as opening a FIFO would. Errors are bad_input, and say what there is
// instead: nothing, a folder, a pipe or device, no permission.
Result<FileDescriptor> open_regular_file(const std::string& path);

}  // namespace kvet
