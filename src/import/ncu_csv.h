// Nsight Compute's CSV: `ncu --csv` with the details page (a row per launch and metric) or the raw page (a row per launch under a row
// of units). https://docs.nvidia.com/nsight-compute/NsightComputeCli/ ("Output Pages", --csv, --page, --print-units).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/isolated_counters.h"

namespace kvet::importing {

// Whether the beginning of a file looks like it: a row of headings with "Kernel Name".
[[nodiscard]] bool is_ncu_csv(const std::string& path);

inline constexpr size_t most_ncu_bytes = size_t{128} << 20;
inline constexpr size_t most_ncu_launches = 500'000, most_ncu_kernels = 2'000;

// Lines of the tool ("==PROF==", "==WARNING==") and of the program before and between rows are left out. Errors are bad_input, with the
// line: no headings; no kernel; a row that is cut; one launch twice; two values of one metric; a number or unit that cannot be read, is
// negative or impossible; decimals written in two ways. "n/a" and empty cells are values that are not known.
Result<IsolatedProfile> read_ncu_csv(const std::string& path);
Result<IsolatedProfile> parse_ncu_csv(std::string_view text, const std::string& path);

}  // namespace kvet::importing
