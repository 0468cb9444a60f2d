#include "capability/system.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include <charconv>

#include "base/file_descriptor.h"
#include "base/text.h"

namespace kvet::capability {

namespace {
constexpr size_t read_limit = 65536;  // files of /proc and /sys are far smaller; a planted one must not fill memory
}

System System::current() {
  System system;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const size_t equals = text.find('='); equals != std::string_view::npos) {
      system.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return system;
}

bool System::exists(std::string_view absolute) const { return ::access(path(absolute).c_str(), F_OK) == 0; }

std::optional<std::string> System::read(std::string_view absolute) const {
  const FileDescriptor file(::open(path(absolute).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.valid()) {
    return std::nullopt;
  }
  std::string text(read_limit, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0) {
      return std::nullopt;
    }
    if (count == 0) {
      break;
    }
    size += static_cast<size_t>(count);
  }
  text.resize(size);
  return text;
}

std::vector<std::string> System::matches(std::string_view absolute_pattern) const {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(path(absolute_pattern).c_str(), 0, nullptr, &found) == 0) {
    for (size_t index = 0; index < found.gl_pathc; ++index) {
      paths.emplace_back(found.gl_pathv[index] + root.size());
    }
  }
  ::globfree(&found);
  return paths;
}

std::string_view System::variable(std::string_view name) const {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string_view{} : std::string_view{found->second};
}

std::optional<std::string> value_of(std::string_view text, std::string_view key) {
  for (std::string_view line : split(text, '\n')) {
    if (line.starts_with(key) && line.substr(key.size()).starts_with(':')) {
      return std::string(trimmed(line.substr(key.size() + 1)));
    }
  }
  return std::nullopt;
}

std::optional<int64_t> whole_number(std::string_view text) {
  text = trimmed(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace kvet::capability
