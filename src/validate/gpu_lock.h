// One experiment per GPU: two at once would measure each other.
#pragma once

#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace kvet::validate {

// Held while the descriptor lives. `device` as in the plan ("" where it names none). unavailable: taken; names the holder.
Result<FileDescriptor> lock_gpu(const std::string& device);

}  // namespace kvet::validate
