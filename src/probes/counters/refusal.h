// Why counters cannot be had, in one sentence with what to do about it.
#pragma once

#include <string>

namespace kvet::probes {

// `step`: the CUPTI function that failed; `code`: its CUptiResult; `chip`: as CUPTI names it, "" where unknown.
[[nodiscard]] std::string refusal(const char* step, int code, const std::string& chip);

// Running programs that are known to hold the counters of a GPU, as "nv-hostengine (pid 1234)"; "" where none is seen.
// `proc`: /proc, or a folder that looks like it.
[[nodiscard]] std::string probable_holders(const std::string& proc = "/proc");

}  // namespace kvet::probes
