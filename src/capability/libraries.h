// Where a shared library would be found on this machine, without loading it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "capability/system.h"

namespace kvet::capability {

struct FoundLibrary {
  std::string path;
  std::string how;  // "LD_LIBRARY_PATH", "the linker's cache", "the CUDA toolkit", "a Python package"
};

// All files called `name` ("libcupti.so") or `name`.VERSION, in the order in which a process would come upon them: the
// places of the dynamic linker (ld.so(8)) first, then the CUDA toolkit, then Python packages of the usual environments.
// Each file once, whatever links lead to it.
[[nodiscard]] std::vector<FoundLibrary> find_library(const System& system, std::string_view name);

// The paths that /etc/ld.so.cache gives for exactly this file name. The format is glibc's (elf/dl-cache.h); what does not
// fit into the bytes is left out.
[[nodiscard]] std::vector<std::string> cached_paths(std::string_view cache, std::string_view name);

}  // namespace kvet::capability
