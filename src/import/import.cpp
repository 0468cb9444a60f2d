#include "import/import.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/input_file.h"
#include "import/formats.h"

namespace kvet::importing {
namespace {

std::string_view first_bytes(const std::string& path, std::array<char, 512>& into) {
  const auto file = open_regular_file(path);
  const ssize_t count = file ? ::read(file->get(), into.data(), into.size()) : 0;
  return count > 0 ? std::string_view(into.data(), static_cast<size_t>(count)) : std::string_view{};
}

// UTF-16, by its mark or by JSON's first character in it.
bool is_utf16(std::string_view bytes) {
  return bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff") ||
         bytes.starts_with(std::string_view("{\0", 2)) || bytes.starts_with(std::string_view("\0{", 2)) ||
         bytes.starts_with(std::string_view("[\0", 2)) || bytes.starts_with(std::string_view("\0[", 2));
}

bool equal_content(const std::string& a, const std::string& b) {
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const File one(std::fopen(a.c_str(), "rbe"), &std::fclose), other(std::fopen(b.c_str(), "rbe"), &std::fclose);
  if (!one || !other) {
    return false;
  }
  std::vector<char> left(size_t{64} << 10), right(left.size());
  for (;;) {
    const size_t read = std::fread(left.data(), 1, left.size(), one.get());
    if (std::fread(right.data(), 1, right.size(), other.get()) != read ||
        std::memcmp(left.data(), right.data(), read) != 0) {
      return false;
    }
    if (read == 0) {
      return true;
    }
  }
}

// One recording that is read twice would count everything twice.
Result<void> refuse_twice(const std::vector<std::string>& paths) {
  std::map<std::pair<dev_t, ino_t>, std::string> by_identity;
  std::multimap<off_t, std::string> by_size;
  for (const std::string& path : paths) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
      continue;  // whoever opens it says so
    }
    if (!by_identity.try_emplace({status.st_dev, status.st_ino}, path).second) {
      return fail(ErrorKind::bad_input, "is given twice", path, "Give each file once");
    }
    const auto [begin, end] = by_size.equal_range(status.st_size);
    for (auto other = begin; other != end; ++other) {
      if (equal_content(path, other->second)) {
        return fail(ErrorKind::bad_input, "has the same content as " + other->second, path, "Give each recording once");
      }
    }
    by_size.emplace(status.st_size, path);
  }
  return {};
}

// What a file is that none of the importers takes, and what to do about it.
std::pair<std::string, std::string> described(std::string_view bytes) {
  constexpr size_t application_id = 68;
  if (bytes.starts_with(std::string_view("SQLite format 3\0", 16)) && bytes.size() >= application_id + 4) {
    // "kvet" in ASCII: docs/capture-format.md.
    return bytes.substr(application_id, 4) == "kvet"
               ? std::pair<std::string, std::string>{"is a capture already", "Give it to `kvet report` as it is"}
               : std::pair<std::string, std::string>{"is an SQLite database of another program",
                                                     "Give what `nsys export --type sqlite` wrote"};
  }
  if (bytes.starts_with("\xef\xbb\xbf")) {
    return {"begins with a byte-order mark, which JSON must not", "Take it off: tail -c +4 FILE"};
  }
  if (is_utf16(bytes)) {
    return {"is UTF-16 text, and JSON is UTF-8", "Convert it: iconv -f UTF-16 -t UTF-8 FILE"};
  }
  return {"is neither an Nsight Systems SQLite export nor a PyTorch profiler trace",
          "A .nsys-rep becomes one with `nsys export --type sqlite`"};
}

}  // namespace

std::optional<Format> detect(const std::string& path) {
  std::array<char, 512> buffer{};
  const std::string_view bytes = first_bytes(path, buffer);
  constexpr size_t application_id = 68;  // https://www.sqlite.org/fileformat2.html, section 1.3; a capture sets it
  if (bytes.starts_with(std::string_view("SQLite format 3\0", 16)) && bytes.size() >= application_id + 4) {
    return bytes.substr(application_id, 4) == std::string_view("\0\0\0\0", 4) ? std::optional(Format::nsys_sqlite)
                                                                              : std::nullopt;
  }
  if (is_utf16(bytes)) {
    return std::nullopt;
  }
  const size_t text = bytes.find_first_not_of(" \t\r\n");
  if (bytes.starts_with("\x1f\x8b") || (text != std::string_view::npos && (bytes[text] == '{' || bytes[text] == '['))) {
    return Format::kineto_json;
  }
  return std::nullopt;
}

Result<void> import_files(const std::vector<std::string>& paths, EventSink& sink) {
  std::optional<Format> common;
  for (const std::string& path : paths) {
    const auto format = detect(path);
    if (!format) {
      if (const auto file = open_regular_file(path); !file) {
        return std::unexpected(file.error());
      }
      std::array<char, 512> buffer{};
      auto [what, advice] = described(first_bytes(path, buffer));
      return fail(ErrorKind::bad_input, std::move(what), path, std::move(advice));
    }
    if (common && *common != *format) {
      return fail(ErrorKind::bad_input, "is of another format than " + paths.front(), path,
                  "Their clocks have nothing in common: import Nsight Systems exports and PyTorch traces apart");
    }
    common = format;
  }
  if (auto once = refuse_twice(paths); !once) {
    return once;
  }
  if (!common) {
    return fail(ErrorKind::usage, "no file was given to import");
  }
  switch (*common) {
    case Format::kineto_json: return import_kineto(paths, sink);
    case Format::nsys_sqlite: return import_nsys(paths, sink);
  }
  return fail(ErrorKind::internal, "has a format without a reader", paths.front());
}

}  // namespace kvet::importing
