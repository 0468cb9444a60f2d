// Where a target has its libcupti, which may be the only one of the machine: in a Python package, or mapped already. The
// sampler loads what is found here into a process with the recorder's rights. So only a file that nobody but root and the
// one who called kvet can change is taken, and of a running process only what is the same file under its path here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/invoking_user.h"

namespace kvet::record {

// Files that a running process has mapped.
[[nodiscard]] std::vector<std::string> cupti_of_process(int pid, const std::optional<InvokingUser>& user);

// Folders of NVIDIA's packages beside the Python that runs `program` (itself, or the interpreter of a script). Empty where
// it is no Python.
[[nodiscard]] std::vector<std::string> cupti_of_python(const std::string& program, const Environment& environment,
                                                       const std::optional<InvokingUser>& user);

// May a process with our rights load this file? Its owner and those of the folders above it decide.
[[nodiscard]] bool is_ours(const std::string& path, const std::optional<InvokingUser>& user);

}  // namespace kvet::record
