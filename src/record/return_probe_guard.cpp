#include "record/return_probe_guard.h"

#include <sys/utsname.h>

#include <charconv>

#include "base/text.h"
#include "record/mappings.h"

namespace kvet::record {

namespace {

// "6.12.3-generic": 6 and 12.
bool is_affected(std::string_view release) {
  const char* const end = release.data() + release.size();
  int major = 0, minor = 0;
  const auto first = std::from_chars(release.data(), end, major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.' ||
      std::from_chars(first.ptr + 1, end, minor).ec != std::errc{}) {
    return false;
  }
  return major == 6 && minor >= 11 && minor <= 13;
}

bool is_filtered(std::string_view status) {
  constexpr std::string_view key = "Seccomp:";
  for (const std::string_view line : split(status, '\n')) {
    if (line.starts_with(key)) {
      return trimmed(line.substr(key.size())) != "0";
    }
  }
  return false;
}

}  // namespace

bool returns_are_refused(std::string_view machine, std::string_view release, std::string_view status) {
  return machine == "x86_64" && is_affected(release) && is_filtered(status);
}

bool returns_are_refused(int pid) {
  utsname system{};
  uname(&system);
  return returns_are_refused(system.machine, system.release, read_proc_file(pid, "status"));
}

}  // namespace kvet::record
