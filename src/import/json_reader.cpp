#include "import/json_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "import/json_blocks.h"

namespace kvet::importing {
namespace {

constexpr size_t window_bytes = 256 * 1024;
// One text or number that is read must fit. PyTorch's longest are call stacks and input lists of some 100 KB.
constexpr size_t longest_token_bytes = 16 * 1024 * 1024;
// Python's own parser gives up at 1000 levels.
constexpr uint32_t deepest = 1000;

bool is_space(char letter) { return letter == ' ' || letter == '\n' || letter == '\r' || letter == '\t'; }
bool is_word(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         letter == '-' || letter == '+' || letter == '.';
}

void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

std::optional<uint32_t> four_digits(std::string_view text) {
  if (text.size() < 4) {
    return std::nullopt;
  }
  uint32_t code = 0;
  for (const char letter : text.substr(0, 4)) {
    const int digit = letter >= '0' && letter <= '9'   ? letter - '0'
                      : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                      : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                                       : -1;
    if (digit < 0) {
      return std::nullopt;
    }
    code = code << 4 | static_cast<uint32_t>(digit);
  }
  return code;
}

// https://www.rfc-editor.org/rfc/rfc8259#section-6
bool is_number(std::string_view text) {
  size_t at = 0;
  auto digits = [&] {
    const size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      ++at;
    }
    return at - from;
  };
  at += text.starts_with('-') ? 1 : 0;
  const size_t first = at;
  const size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) {
    return false;
  }
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) {
      return false;
    }
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    at += at < text.size() && (text[at] == '+' || text[at] == '-') ? 1 : 0;
    if (digits() == 0) {
      return false;
    }
  }
  return at == text.size();
}

}  // namespace

JsonReader::JsonReader(ByteSource& source) : source_(source), buffer_(window_bytes + block_bytes) {
  at_ = end_ = buffer_.data();
}

// Reads on behind end_; what lies before kept_ (or at_) is given up. False: there is no more.
bool JsonReader::more() {
  if (drained_) {
    return false;
  }
  const char* from = kept_ != nullptr ? kept_ : at_;
  const auto held = static_cast<size_t>(end_ - from);
  if (held > longest_token_bytes) {
    fail(fmt::format("a text or number is longer than {} MiB", longest_token_bytes >> 20));
  }
  const auto into = static_cast<size_t>(at_ - from);
  consumed_ += static_cast<uint64_t>(from - buffer_.data());
  std::memmove(buffer_.data(), from, held);
  if (buffer_.size() < 2 * held + block_bytes) {
    buffer_.resize(2 * held + window_bytes + block_bytes);
  }
  kept_ = kept_ != nullptr ? buffer_.data() : nullptr;
  at_ = buffer_.data() + into;
  const auto count = source_.read({buffer_.data() + held, buffer_.size() - block_bytes - held});
  if (!count) {
    throw SourceFault(count.error());
  }
  drained_ = *count == 0;
  end_ = buffer_.data() + held + *count;
  std::memset(buffer_.data() + held + *count, 0, block_bytes);
  return *count > 0;
}

char JsonReader::peek() {
  for (;;) {
    while (is_space(*at_)) {
      ++at_;
    }
    if (at_ < end_) {
      return *at_;
    }
    if (!more()) {
      return 0;
    }
  }
}

void JsonReader::take(char expected, const char* what) {
  const char next = peek();
  if (next != expected) {
    if (next == 0 && at_ == end_) {
      fail("it ends in the middle of the trace");
    }
    fail(fmt::format("{} is expected", what));
  }
  ++at_;
}

void JsonReader::open_object() {
  take('{', "an object");
  if (++depth_ > deepest) {
    fail(fmt::format("values are nested deeper than {} levels", deepest));
  }
  fresh_ = true;
}

void JsonReader::open_array() {
  take('[', "an array");
  if (++depth_ > deepest) {
    fail(fmt::format("values are nested deeper than {} levels", deepest));
  }
  fresh_ = true;
}

void JsonReader::close_or_comma(char closing, const char* what, bool& closed) {
  const char next = peek();
  closed = next == closing;
  if (closed) {
    ++at_;
    --depth_;
    fresh_ = false;
  } else if (!fresh_) {
    take(',', what);
  } else if (next == 0 && at_ == end_) {
    fail("it ends in the middle of the trace");
  }
  fresh_ = false;
}

bool JsonReader::next_key(std::string_view& key) {
  bool closed = false;
  close_or_comma('}', "a comma or the end of the object", closed);
  if (closed) {
    return false;
  }
  bool escaped = false, beyond_ascii = false;
  raw_string(escaped, beyond_ascii);
  const auto length = static_cast<size_t>(at_ - kept_) - 1;
  take(':', "a colon");
  key = {kept_, length};
  kept_ = nullptr;
  return true;
}

bool JsonReader::next_element() {
  bool closed = false;
  close_or_comma(']', "a comma or the end of the array", closed);
  return !closed;
}

void JsonReader::raw_string(bool& escaped, bool& beyond_ascii) {
  take('"', "a text");
  kept_ = at_;
  for (;;) {
    beyond_ascii |= find_in_string(at_);
    if (*at_ == '"') {
      ++at_;
      return;
    }
    if (*at_ == '\\' && at_ + 1 < end_) {
      escaped = true;
      at_ += 2;
    } else if (*at_ == '\\' || at_ >= end_) {
      if (!more()) {
        fail("it ends in the middle of a text");
      }
    } else {
      fail(fmt::format("a text holds the control character 0x{:02x}", static_cast<unsigned>(*at_)));
    }
  }
}

std::string_view JsonReader::unescaped(std::string_view raw) {
  scratch_.clear();
  for (size_t at = 0; at < raw.size();) {
    const size_t next = std::min(raw.find('\\', at), raw.size());
    scratch_.append(raw, at, next - at);
    if (next == raw.size()) {
      break;
    }
    at = next + 2;
    switch (raw[next + 1]) {
      case '"': scratch_ += '"'; break;
      case '\\': scratch_ += '\\'; break;
      case '/': scratch_ += '/'; break;
      case 'b': scratch_ += '\b'; break;
      case 'f': scratch_ += '\f'; break;
      case 'n': scratch_ += '\n'; break;
      case 'r': scratch_ += '\r'; break;
      case 't': scratch_ += '\t'; break;
      case 'u': {
        const auto unit = four_digits(raw.substr(at));
        if (!unit) {
          fail("a text holds \\u without four hexadecimal digits");
        }
        at += 4;
        uint32_t code = *unit;
        if (code >= 0xd800 && code < 0xe000) {  // half of a surrogate pair; alone it stands for nothing
          const auto low = raw.substr(at).starts_with("\\u") ? four_digits(raw.substr(at + 2)) : std::nullopt;
          const bool pair = code < 0xdc00 && low && *low >= 0xdc00 && *low < 0xe000;
          at += pair ? 6 : 0;
          code = pair ? 0x10000 + ((code - 0xd800) << 10) + (*low - 0xdc00) : 0xfffd;
        }
        append_utf8(scratch_, code);
        break;
      }
      default: fail("a text holds an escape that JSON does not have");
    }
  }
  return scratch_;
}

std::string_view JsonReader::string() {
  bool escaped = false, beyond_ascii = false;
  raw_string(escaped, beyond_ascii);
  const std::string_view raw{kept_, static_cast<size_t>(at_ - kept_) - 1};
  if (beyond_ascii) {
    if (const auto bad = invalid_utf8(raw)) {
      throw JsonFault("a text holds bytes that are not UTF-8", position() - 1 - raw.size() + *bad);
    }
  }
  kept_ = nullptr;
  return escaped ? unescaped(raw) : raw;
}

std::string_view JsonReader::number() {
  const char first = peek();
  if (first == 0 && at_ == end_) {
    fail("it ends in the middle of the trace");
  }
  kept_ = at_;
  do {
    while (is_word(*at_)) {
      ++at_;
    }
  } while (at_ == end_ && more());
  const std::string_view text{kept_, static_cast<size_t>(at_ - kept_)};
  kept_ = nullptr;
  if (!is_number(text)) {
    const uint64_t where = position() - text.size();
    if (peek() == 0 && at_ == end_) {
      throw JsonFault("a number is expected, and it ends", where);
    }
    throw JsonValueFault("a number is expected", where);
  }
  return text;
}

std::optional<std::string_view> JsonReader::number_if() {
  const char next = peek();
  if (next == '-' || (next >= '0' && next <= '9')) {
    return number();
  }
  skip_value();
  return std::nullopt;
}

std::optional<std::string_view> JsonReader::string_if() {
  if (peek() == '"') {
    return string();
  }
  skip_value();
  return std::nullopt;
}

void JsonReader::skip_value() {
  const char next = peek();
  if (next == '{' || next == '[') {
    ++at_;
    skip_levels(1);
  } else if (next == '"') {
    bool escaped = false, beyond_ascii = false;
    raw_string(escaped, beyond_ascii);
    kept_ = nullptr;
  } else if (is_word(next)) {
    do {
      while (is_word(*at_)) {
        ++at_;
      }
    } while (at_ == end_ && more());
  } else if (next == 0 && at_ == end_) {
    fail("it ends in the middle of the trace");
  } else {
    fail("a value is expected");
  }
}

void JsonReader::skip_rest() {
  fresh_ = false;
  skip_levels(1);
  --depth_;
}

// 64 bytes at a time: which of them lie in texts, and do the brackets outside them close `depth` levels?
void JsonReader::skip_levels(uint32_t depth) {
  BlockState state;
  for (;;) {
    while (end_ - at_ < static_cast<ptrdiff_t>(block_bytes) && more()) {
    }
    if (at_ == end_) {
      fail(state.in_string != 0 ? "it ends in the middle of a text" : "it ends in the middle of the trace");
    }
    const Brackets brackets = brackets_of(at_, state);
    const auto closed = static_cast<uint32_t>(__builtin_popcountll(brackets.closing));
    if (closed < depth) {
      depth += static_cast<uint32_t>(__builtin_popcountll(brackets.opening));
      depth -= closed;
      if (depth + depth_ > deepest + 1) {
        fail(fmt::format("values are nested deeper than {} levels", deepest));
      }
    } else {
      for (uint64_t both = brackets.opening | brackets.closing; both != 0; both &= both - 1) {
        const uint64_t lowest = both & (~both + 1);
        depth = (brackets.opening & lowest) != 0 ? depth + 1 : depth - 1;
        if (depth == 0) {
          at_ += __builtin_ctzll(lowest) + 1;
          return;
        }
      }
    }
    at_ = std::min(at_ + block_bytes, end_);
  }
}

void JsonReader::end() {
  if (peek() != 0 || at_ != end_) {
    fail("something follows the end of the trace");
  }
}

}  // namespace kvet::importing
