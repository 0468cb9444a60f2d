// The machine as the checks see it: where its files are and what the environment says. Tests plant their own.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvet::capability {

struct System {
  std::string root;  // in front of /proc, /sys, /etc, /usr, …; "" for the machine itself
  std::map<std::string, std::string, std::less<>> environment;

  // This machine, this process's environment.
  static System current();

  [[nodiscard]] std::string path(std::string_view absolute) const { return root + std::string(absolute); }
  [[nodiscard]] bool exists(std::string_view absolute) const;
  // The first 64 KiB of a file, or empty when it cannot be read.
  [[nodiscard]] std::optional<std::string> read(std::string_view absolute) const;
  // Files that match a glob pattern, sorted, without the root in front.
  [[nodiscard]] std::vector<std::string> matches(std::string_view absolute_pattern) const;
  // "" when it is not set.
  [[nodiscard]] std::string_view variable(std::string_view name) const;
};

// "Key:   value" lines, as /proc writes them: the value of a key, trimmed.
[[nodiscard]] std::optional<std::string> value_of(std::string_view text, std::string_view key);

// A whole number and nothing else (spaces around it allowed).
[[nodiscard]] std::optional<int64_t> whole_number(std::string_view text);

}  // namespace kvet::capability
