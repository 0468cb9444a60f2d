// The inner loops of json_reader.cpp: 16 or 64 bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace kvet::importing {

inline constexpr size_t block_bytes = 64;

// Moves `at` to the next quotation mark, backslash or control character; true: bytes beyond ASCII were passed. There must be
// block_bytes of zeros behind the text.
inline bool find_in_string(const char*& at) {
  bool beyond_ascii = false;
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
  for (;; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i stop = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                                      _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
    const auto stops = static_cast<uint32_t>(_mm_movemask_epi8(stop));
    const auto high = static_cast<uint32_t>(_mm_movemask_epi8(bytes));
    if (stops != 0) {
      const uint32_t before = (stops & (~stops + 1)) - 1;
      at += __builtin_ctz(stops);
      return beyond_ascii || (high & before) != 0;
    }
    beyond_ascii = beyond_ascii || high != 0;
  }
#else
  for (;; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte == '"' || byte == '\\' || byte < 0x20) {
      return beyond_ascii;
    }
    beyond_ascii = beyond_ascii || byte >= 0x80;
  }
#endif
}

struct BlockState {
  uint64_t in_string = 0;  // all ones: the block before ended inside a text
  bool escaped = false;  // it ended with a backslash that escapes this block's first byte
};
struct Brackets {
  uint64_t opening = 0, closing = 0;  // bit i: byte i, outside of texts
};

// Bits that a backslash before them escapes. Backslashes are rare: one by one.
inline uint64_t escaped_bits(uint64_t backslashes, bool& carry) {
  uint64_t escaped = 0;
  if (carry) {
    escaped = 1;
    backslashes &= ~uint64_t{1};
    carry = false;
  }
  while (backslashes != 0) {
    const int bit = __builtin_ctzll(backslashes);
    if (bit == 63) {
      carry = true;
      break;
    }
    escaped |= uint64_t{2} << bit;
    backslashes &= ~(uint64_t{3} << bit);
  }
  return escaped;
}

// The brackets of 64 bytes. Behind the end of the input they must be zeros.
inline Brackets brackets_of(const char* bytes, BlockState& state) {
  uint64_t quotes = 0, backslashes = 0;
  Brackets brackets;
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), lower = _mm_set1_epi8(0x20),
                open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
  for (unsigned part = 0; part < 4; ++part) {
    const __m128i letters = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + part);
    const __m128i folded = _mm_or_si128(letters, lower);  // '[' and '{' differ in this bit, so do ']' and '}'
    auto mask = [&](__m128i equal) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(equal))) << (16 * part);
    };
    quotes |= mask(_mm_cmpeq_epi8(letters, quote));
    backslashes |= mask(_mm_cmpeq_epi8(letters, backslash));
    brackets.opening |= mask(_mm_cmpeq_epi8(folded, open));
    brackets.closing |= mask(_mm_cmpeq_epi8(folded, close));
  }
#else
  for (unsigned i = 0; i < block_bytes; ++i) {
    const char letter = bytes[i];
    quotes |= uint64_t{letter == '"'} << i;
    backslashes |= uint64_t{letter == '\\'} << i;
    brackets.opening |= uint64_t{letter == '{' || letter == '['} << i;
    brackets.closing |= uint64_t{letter == '}' || letter == ']'} << i;
  }
#endif
  if (backslashes != 0 || state.escaped) {
    quotes &= ~escaped_bits(backslashes, state.escaped);
  }
  // Bit i becomes the parity of the quotation marks up to i: inside a text it is 1.
  uint64_t inside = quotes;
  for (const int shift : {1, 2, 4, 8, 16, 32}) {
    inside ^= inside << shift;
  }
  inside ^= state.in_string;
  state.in_string = (inside >> 63) != 0 ? ~uint64_t{0} : 0;
  brackets.opening &= ~inside;
  brackets.closing &= ~inside;
  return brackets;
}

// Where the first byte lies that is not UTF-8 (RFC 3629); empty: all are.
std::optional<size_t> invalid_utf8(std::string_view text);

}  // namespace kvet::importing
