// Bytes of a file in order, plain or out of gzip, a piece at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace kvet::importing {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `into.size()` bytes; 0: the end. Errors are bad_input: the file cannot be read, its gzip is damaged or cut short,
  // with the position in the compressed file.
  virtual Result<size_t> read(std::span<char> into) = 0;
};

// A file that begins with gzip's magic number is decompressed: one or more members, and nothing behind them.
Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path);
// The same of bytes in memory, which must outlive it. `name` is for messages.
Result<std::unique_ptr<ByteSource>> open_memory(std::span<const char> bytes, const std::string& name);

}  // namespace kvet::importing
