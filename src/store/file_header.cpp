#include "store/file_header.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/input_file.h"
#include "database/untrusted.h"
#include "store/schema.h"

namespace kvet::store {
namespace {

constexpr std::string_view magic{"SQLite format 3\0", 16};

uint32_t big_endian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

}  // namespace

Result<FileHeader> read_file_header(const std::string& path) {
  const auto opened = open_regular_file(path);
  if (!opened) {
    return std::unexpected(opened.error());
  }
  const FileDescriptor& file = *opened;
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) {
    return fail(ErrorKind::bad_input, std::strerror(errno), path);
  }
  if (status.st_size == 0) {
    return fail(ErrorKind::bad_input, "the file is empty", path, "the recording never began: record again");
  }
  std::array<unsigned char, 100> bytes{};
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  if (got < static_cast<ssize_t>(magic.size()) || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0) {
    return fail(ErrorKind::bad_input, "not a kvet capture", path, "give a file that `kvet record` wrote");
  }
  if (got < static_cast<ssize_t>(bytes.size())) {
    return fail(ErrorKind::bad_input, "the capture is truncated", path, "fetch the file again");
  }
  if (const auto id = static_cast<int32_t>(big_endian(&bytes[68])); id != application_id) {
    return fail(ErrorKind::bad_input, "an SQLite database, but not a kvet capture", path,
                "give a file that `kvet record` wrote");
  }
  const auto version = static_cast<int32_t>(big_endian(&bytes[60]));
  if (version > format_version) {
    return fail(
        ErrorKind::bad_input,
        fmt::format("the capture has format version {}, and this kvet reads version {}", version, format_version), path,
        "use a newer kvet");
  }
  if (version < 1) {
    return fail(ErrorKind::bad_input, fmt::format("the capture says format version {}, which never existed", version),
                path, "fetch the file again");
  }
  if (version < format_version) {
    return fail(
        ErrorKind::bad_input,
        fmt::format("the capture has format version {}, and this kvet reads version {}", version, format_version), path,
        "record again, or read it with the kvet that made it");
  }
  FileHeader header{static_cast<uint64_t>(status.st_size), 0};
  struct stat wal{};
  if (::stat((path + "-wal").c_str(), &wal) == 0) {
    header.wal_bytes = static_cast<uint64_t>(wal.st_size);
  }
  // With a log beside it, the page count in the header may be older or newer than the file.
  const uint32_t stored_page = uint32_t{bytes[16]} << 8 | bytes[17];
  const uint64_t page = stored_page == 1 ? 65536 : stored_page;
  const uint64_t expected = page * big_endian(&bytes[28]);
  if (header.wal_bytes == 0 && expected > header.bytes) {
    return fail(ErrorKind::bad_input, fmt::format("the capture is truncated: {} bytes of {}", header.bytes, expected),
                path, "fetch the file again");
  }
  return header;
}

Result<void> check_room(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      // SQLite would say "No such file" of a folder that it may not write to.
      const size_t slash = path.rfind('/');
      const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
      if (::access(folder.c_str(), W_OK | X_OK) != 0) {
        return fail(ErrorKind::internal, fmt::format("cannot be made there ({})", std::strerror(errno)), path,
                    "choose a folder that exists and can be written, with -o");
      }
      return {};
    }
    return fail(ErrorKind::internal, fmt::format("cannot be made there ({})", std::strerror(errno)), path,
                "choose another file with -o");
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::bad_input, "exists and is not a file", path, "choose another file with -o");
  }
  FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file.valid()) {
    return fail(ErrorKind::internal, std::strerror(errno), path, "choose another file with -o");
  }
  if (status.st_size != 0) {
    std::array<unsigned char, 100> bytes{};
    const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), 0);
    if (got != static_cast<ssize_t>(bytes.size()) || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0 ||
        static_cast<int32_t>(big_endian(&bytes[68])) != application_id) {
      return fail(ErrorKind::bad_input, "exists and is not a kvet capture, so it is not overwritten", path,
                  "choose another file with -o");
    }
    if (database::in_use(file.get())) {
      return fail(ErrorKind::bad_input, "another kvet is recording into this file", path,
                  "choose another file with -o");
    }
  }
  return {};
}

Result<void> make_room(const std::string& path) {
  if (auto room = check_room(path); !room) {
    return room;
  }
  // A log that lost its file would be taken for the new one's.
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    if (::unlink((path + suffix).c_str()) != 0 && errno != ENOENT) {
      return fail(ErrorKind::internal, fmt::format("cannot be replaced ({})", std::strerror(errno)), path,
                  "choose another file with -o");
    }
  }
  return {};
}

}  // namespace kvet::store
