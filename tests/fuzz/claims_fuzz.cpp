// Result files of benchmarks, as claims. The first line, where it begins with '#', is the id that is asked for.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "import/claims/claims.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kvet;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string id;
  if (text.starts_with('#')) {
    const size_t end = text.find('\n');
    id = text.substr(1, end == std::string_view::npos ? end : end - 1);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  const auto claim = importing::claim_in(text, "input", id);
  // A refusal is bad input, says what, of which file, in one line of a length that can be read; a claim is a finite ratio above 0.
  if (!claim) {
    const std::string message = claim.error().message();
    constexpr size_t longest_message = 8000;  // ten ids of 80 bytes, every byte of them escaped, and one of 200
    if (claim.error().kind != ErrorKind::bad_input || claim.error().what.empty() ||
        claim.error().subject.rfind("input", 0) != 0 || message.find('\n') != std::string::npos ||
        message.size() > longest_message) {
      std::abort();
    }
    return 0;
  }
  const bool times_agree =
      !claim->baseline_ns || !claim->candidate_ns || (*claim->baseline_ns > 0 && *claim->candidate_ns > 0);
  if (!std::isfinite(claim->ratio) || claim->ratio <= 0 || !times_agree) {
    std::abort();
  }
  return 0;
}
