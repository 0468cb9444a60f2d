// Files that a process has mapped executable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"

namespace kvet::record {

struct Mapping {
  uint64_t begin = 0, end = 0;
  std::string path;  // as the process sees it; may end in " (deleted)"
};

// The executable mappings of files in text of the form of /proc/PID/maps.
[[nodiscard]] std::vector<Mapping> executable_mappings(std::string_view maps);

// The same of a process; empty where it cannot be read (it has gone).
[[nodiscard]] std::vector<Mapping> executable_mappings_of(int pid);

// Opens the very file behind a mapping, through /proc/PID/map_files, whatever its path means here; where that is not
// allowed, through the process's own root. Only as a place (O_PATH): it may be a device, and opening that may do
// something. Invalid where neither works.
[[nodiscard]] FileDescriptor open_mapping(int pid, const Mapping& mapping);

// The whole of a small file under /proc; "" where it cannot be read.
[[nodiscard]] std::string read_proc_file(int pid, std::string_view name);

}  // namespace kvet::record
