// Claims from the result files of kernel benchmarks: docs/claims.md describes the formats and how an entry is named.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/claim.h"

namespace kvet::importing {

// Larger result files are refused: these formats hold some kilobytes per benchmark.
inline constexpr size_t most_claim_bytes = size_t{64} << 20;

// Whether what stands behind --claim is meant as a file and not as a number: something of that name exists
// (in `folder` where the name is relative), or it has a '#', the word "vs", or ends as these files do.
[[nodiscard]] bool names_a_claim_file(std::string_view text, const std::string& folder = {});

// Reads the claim that `reference` names:
//   FILE          the one result in it
//   FILE#ID       one result that has both times, or a ratio
//   FILE#A vs B   times of two results: A is the baseline. B may be in a file of its own: FILE#A vs FILE2#B, FILE vs FILE2
// Relative paths start at `folder` ("": here). Errors are bad_input: what read_bounded says; none of the formats, with the position; no such id
// or no id where one is needed (the message lists those that are there, ten at most); two results of one id; a result that is no
// claim (it failed; a time that is not above 0; a percentage; a ratio that its own times contradict); two arms of different
// GPUs or workloads.
Result<Claim> read_claim(const std::string& reference, const std::string& folder = {});

// The same for the content of one file; `id` as behind '#'. `path` is used in messages.
Result<Claim> claim_in(std::string_view content, const std::string& path, const std::string& id);

}  // namespace kvet::importing
