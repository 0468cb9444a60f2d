// Files of a result folder: written whole or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verdict/verdict.h"

namespace kvet::validate {

// Whole content; bad_input where it cannot be read.
Result<std::string> read_file(const std::string& path);
// The folder and its parents; what exists already is fine.
Result<void> make_folder(const std::string& path);

// What a gate makes of a verdict.
struct Gate {
  std::vector<std::string> accept;  // words that count as success
  std::string artifact;  // what results in code scanning point to; "": the candidate's first capture
};

// verdict.json, report.txt (without colour, 100 columns), verdict.md, junit.xml and verdict.sarif.
Result<void> write_verdict(const std::string& folder, const verdict::Verdict& verdict, const Gate& gate);

}  // namespace kvet::validate
