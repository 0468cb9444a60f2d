#include "import/json_blocks.h"

namespace kvet::importing {

std::optional<size_t> invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x80) {
      ++at;
      continue;
    }
    const size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                          : first >= 0xe0 && first <= 0xef ? 3
                          : first >= 0xf0 && first <= 0xf4 ? 4
                                                           : 0;
    if (length == 0 || at + length > text.size()) {
      return at;
    }
    for (size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      // The second byte's range depends on the first: no overlong forms, no surrogates, nothing above U+10FFFF.
      const unsigned low = i == 1 && first == 0xe0 ? 0xa0 : i == 1 && first == 0xf0 ? 0x90 : 0x80;
      const unsigned high = i == 1 && first == 0xed ? 0x9f : i == 1 && first == 0xf4 ? 0x8f : 0xbf;
      if (next < low || next > high) {
        return at;
      }
    }
    at += length;
  }
  return std::nullopt;
}

}  // namespace kvet::importing
