// Attaches programs to functions of one library in one process. Nobody else is trapped: the kernel puts the breakpoints
// into that process's memory only. A link ends with its descriptor, so a killed recorder leaves nothing behind.
#pragma once

#include <optional>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "probes/kernel/probed_function.h"
#include "record/library.h"

namespace kvet::record {

// What this kernel offers, tried out; see probes::UprobeWay.
[[nodiscard]] probes::UprobeWay best_uprobe_way();

// The descriptors of one attachment, in an order in which they may be closed: a call whose entry was seen still has its
// return seen.
using UprobeLinks = std::vector<FileDescriptor>;

struct Attachment {
  UprobeLinks links;
  bool gone = false;  // the process had ended: nothing to probe
  std::optional<Error> failure;  // the first function that could not be probed, and why; the others are
};
[[nodiscard]] Attachment attach_uprobes(const probes::UprobeProgram& program, const Library& library, int pid);

}  // namespace kvet::record
