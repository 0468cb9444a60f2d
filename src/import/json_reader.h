// Reads JSON (RFC 8259) from a stream, one value at a time, in bounded memory.
//
// Why not a library: a trace of several GiB must be read in windows and at several times the speed of Python's json.load. On the
// traces that we measured, RapidJSON's SAX reader does nothing at all with a text and is at 4.5 to 7 times that; simdjson is at 9
// to 17 times but takes whole documents, so a scan like `skip_levels` would have to cut the windows for it. With that scan at
// hand, most of a trace (operators of the CPU, flows) is passed over by it alone, and what is left is small.
//
// What is read is checked as the standard has it; what is skipped only as far as its end must be found.
//
// Faults are thrown as JsonFault: they stay inside this layer.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "import/byte_source.h"

namespace kvet::importing {

struct JsonFault : std::runtime_error {
  JsonFault(const std::string& what, uint64_t where) : std::runtime_error(what), position(where) {}
  uint64_t position;  // byte, from 0, after decompression
};
// The JSON goes on, with a value of another kind than must stand there.
struct JsonValueFault : JsonFault {
  using JsonFault::JsonFault;
};
// The stream itself failed.
struct SourceFault : std::runtime_error {
  explicit SourceFault(Error cause) : std::runtime_error(cause.what), error(std::move(cause)) {}
  Error error;
};

class JsonReader {
 public:
  explicit JsonReader(ByteSource& source);

  // The next byte that is not white space, without taking it; 0 at the end of the input.
  char peek();

  // `for (open_object(); next_key(key);) { … exactly one value … }`; false: the object's end was taken. The key holds until the
  // next call, and has its escapes as they stand: no key that kvet looks for has any.
  void open_object();
  bool next_key(std::string_view& key);
  // The same for an array's elements.
  void open_array();
  bool next_element();

  // The text that comes next, which must be one, with its escapes resolved; valid UTF-8. Holds until the next call.
  std::string_view string();
  // The digits, point and exponent as they stand in the file. Holds until the next call.
  std::string_view number();
  // A number, or nothing where another kind of value stands there, which is skipped.
  std::optional<std::string_view> number_if();
  std::optional<std::string_view> string_if();
  void skip_value();
  // From between two members of an object, or two elements, to behind its end.
  void skip_rest();
  // Nothing but white space may follow.
  void end();

  [[nodiscard]] uint64_t position() const { return consumed_ + static_cast<uint64_t>(at_ - buffer_.data()); }
  [[noreturn]] void fail(const std::string& what) const { throw JsonFault(what, position()); }

 private:
  bool more();
  void take(char expected, const char* what);
  void close_or_comma(char closing, const char* what, bool& closed);
  void raw_string(bool& escaped, bool& beyond_ascii);  // leaves kept_ at its first byte and at_ behind the quote
  void skip_levels(uint32_t depth);
  std::string_view unescaped(std::string_view raw);

  ByteSource& source_;
  std::vector<char> buffer_;
  const char* at_ = nullptr;  // the next byte
  const char* end_ = nullptr;  // behind the last one; zeros follow
  const char* kept_ = nullptr;  // from here on the buffer is kept when more is read
  uint64_t consumed_ = 0;  // bytes that have left the buffer
  uint32_t depth_ = 0;
  bool fresh_ = false;  // behind an opening bracket
  bool drained_ = false;
  std::string scratch_;
};

}  // namespace kvet::importing
