#include "import/byte_source.h"

#include <fmt/core.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/input_file.h"

namespace kvet::importing {
namespace {

constexpr std::string_view gzip_magic = "\x1f\x8b";
constexpr size_t compressed_piece_bytes = 64 * 1024;

class FileBytes final : public ByteSource {
 public:
  FileBytes(FileDescriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Result<size_t> read(std::span<char> into) override {
    for (;;) {
      const ssize_t count = ::read(file_.get(), into.data(), into.size());
      if (count >= 0) {
        return static_cast<size_t>(count);
      }
      if (errno != EINTR) {
        return fail(ErrorKind::bad_input, fmt::format("could not be read: {}", std::strerror(errno)), path_);
      }
    }
  }

 private:
  FileDescriptor file_;
  std::string path_;
};

class MemoryBytes final : public ByteSource {
 public:
  explicit MemoryBytes(std::span<const char> bytes) : rest_(bytes) {}
  Result<size_t> read(std::span<char> into) override {
    const size_t count = std::min(into.size(), rest_.size());
    std::copy_n(rest_.begin(), count, into.begin());
    rest_ = rest_.subspan(count);
    return count;
  }

 private:
  std::span<const char> rest_;
};

class GzipBytes final : public ByteSource {
 public:
  GzipBytes(std::unique_ptr<ByteSource> compressed, std::string name)
      : compressed_(std::move(compressed)), name_(std::move(name)), piece_(compressed_piece_bytes) {}
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;
  ~GzipBytes() override {
    if (open_) {
      inflateEnd(&stream_);
    }
  }

  Result<size_t> read(std::span<char> into) override {
    if (!open_) {
      if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) {  // 16: gzip's header and checksum, nothing else
        return fail(ErrorKind::internal, "zlib could not begin", name_);
      }
      open_ = true;
    }
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(into.size(), 1u << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      if (stream_.avail_in == 0) {
        const auto count = compressed_->read(piece_);
        if (!count) {
          return count;
        }
        if (*count == 0) {
          if (!between_members_) {
            return fail(ErrorKind::bad_input, fmt::format("is gzip that is cut short at its byte {}", taken_), name_,
                        "Copy the file again, or let the profiler finish writing it");
          }
          return size_t{0};
        }
        taken_ += *count;
        stream_.next_in = reinterpret_cast<Bytef*>(piece_.data());
        stream_.avail_in = static_cast<uInt>(*count);
      }
      between_members_ = false;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        inflateReset(&stream_);
        between_members_ = true;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        return fail(ErrorKind::bad_input,
                    fmt::format("is damaged gzip at about its byte {}: {}", taken_ - stream_.avail_in,
                                stream_.msg != nullptr ? stream_.msg : "no gzip data"),
                    name_, "Copy the file again");
      }
    }
    return wanted - stream_.avail_out;
  }

 private:
  std::unique_ptr<ByteSource> compressed_;
  std::string name_;
  std::vector<char> piece_;
  z_stream stream_{};
  bool open_ = false, between_members_ = false;
  uint64_t taken_ = 0;  // compressed bytes
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path) {
  auto file = open_regular_file(path);
  if (!file) {
    return std::unexpected(file.error());
  }
  char first[2] = {};
  const bool gzip = ::pread(file->get(), first, sizeof first, 0) == 2 && std::string_view(first, 2) == gzip_magic;
  auto plain = std::make_unique<FileBytes>(std::move(*file), path);
  if (gzip) {
    return std::make_unique<GzipBytes>(std::move(plain), path);
  }
  return plain;
}

Result<std::unique_ptr<ByteSource>> open_memory(std::span<const char> bytes, const std::string& name) {
  auto plain = std::make_unique<MemoryBytes>(bytes);
  if (std::string_view(bytes.data(), bytes.size()).starts_with(gzip_magic)) {
    return std::make_unique<GzipBytes>(std::move(plain), name);
  }
  return plain;
}

}  // namespace kvet::importing
