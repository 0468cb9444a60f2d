#include "record/mappings.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <charconv>

namespace kvet::record {

namespace {

// One line: "7f00-7f10 r-xp 00001000 08:01 1234   /path with blanks".
bool parse(std::string_view line, Mapping& mapping) {
  const char* const start = line.data();
  const char* const end = start + line.size();
  auto parsed = std::from_chars(start, end, mapping.begin, 16);
  if (parsed.ec != std::errc{} || parsed.ptr == end || *parsed.ptr != '-') {
    return false;
  }
  parsed = std::from_chars(parsed.ptr + 1, end, mapping.end, 16);
  if (parsed.ec != std::errc{} || end - parsed.ptr < 6 || parsed.ptr[0] != ' ' || parsed.ptr[3] != 'x') {
    return false;
  }
  const size_t slash = line.find('/', static_cast<size_t>(parsed.ptr - start));
  if (slash == std::string_view::npos) {
    return false;  // no file
  }
  mapping.path = line.substr(slash);
  return true;
}

}  // namespace

std::vector<Mapping> executable_mappings(std::string_view maps) {
  std::vector<Mapping> found;
  while (!maps.empty()) {
    const size_t end = maps.find('\n');
    Mapping mapping;
    if (parse(maps.substr(0, end), mapping)) {
      found.push_back(std::move(mapping));
    }
    maps.remove_prefix(end == std::string_view::npos ? maps.size() : end + 1);
  }
  return found;
}

std::string read_proc_file(int pid, std::string_view name) {
  const FileDescriptor file(open(fmt::format("/proc/{}/{}", pid, name).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char block[16384];
  ssize_t size = 0;
  while (file.valid() && (size = read(file.get(), block, sizeof block)) > 0) {
    text.append(block, static_cast<size_t>(size));
  }
  return text;
}

std::vector<Mapping> executable_mappings_of(int pid) { return executable_mappings(read_proc_file(pid, "maps")); }

FileDescriptor open_mapping(int pid, const Mapping& mapping) {
  const std::string link = fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.begin, mapping.end);
  FileDescriptor file(open(link.c_str(), O_PATH | O_CLOEXEC));
  if (!file.valid() && !mapping.path.empty()) {
    file.reset(open(fmt::format("/proc/{}/root{}", pid, mapping.path).c_str(), O_PATH | O_CLOEXEC));
  }
  return file;
}

}  // namespace kvet::record
