// Files of a result folder: written whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "verdict/verdict.h"

namespace kvet::validate {

// Whole content; bad_input where it cannot be read.
Result<std::string> read_file(const std::string& path);
// The folder and its parents; what exists already is fine.
Result<void> make_folder(const std::string& path);

// verdict.json and report.txt (without colour, 100 columns).
Result<void> write_verdict(const std::string& folder, const verdict::Verdict& verdict);

}  // namespace kvet::validate
