#include "import/import.h"

#include <unistd.h>

#include <array>
#include <string_view>

#include "base/input_file.h"
#include "import/formats.h"

namespace kvet::importing {
namespace {

std::string_view first_bytes(const std::string& path, std::array<char, 512>& into) {
  const auto file = open_regular_file(path);
  const ssize_t count = file ? ::read(file->get(), into.data(), into.size()) : 0;
  return count > 0 ? std::string_view(into.data(), static_cast<size_t>(count)) : std::string_view{};
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
      return fail(ErrorKind::bad_input, "is neither an Nsight Systems SQLite export nor a PyTorch profiler trace", path,
                  "A .nsys-rep becomes one with `nsys export --type sqlite`");
    }
    if (common && *common != *format) {
      return fail(ErrorKind::bad_input, "is of another format than " + paths.front(), path,
                  "Their clocks have nothing in common: import Nsight Systems exports and PyTorch traces apart");
    }
    common = format;
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
