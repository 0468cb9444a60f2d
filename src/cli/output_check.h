// What must be true of -o before a command that reads files begins to work.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kvet::cli {

// The output is none of the files that are read, by whatever name or link, and none of SQLite's side files of one. An error
// is of usage. Inputs that are not there are left to their readers.
Result<void> check_apart(const std::string& output, const std::vector<std::string>& inputs);

// A folder for results: is one already, or is not there yet. An error is of usage.
Result<void> check_result_folder(const std::string& path);

}  // namespace kvet::cli
