#include "record/process_facts.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>

#include "base/text.h"
#include "record/mappings.h"

namespace kvet::record {

namespace {

std::optional<int32_t> whole_number(std::string_view text) {
  int32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// The value of "Key:\tvalue" in a status file.
std::optional<std::string_view> field(std::string_view status, std::string_view key) {
  for (const std::string_view line : split(status, '\n')) {
    if (line.starts_with(key)) {
      return trimmed(line.substr(key.size()));
    }
  }
  return std::nullopt;
}

// Names in a folder that are numbers.
std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()), closedir);
  while (directory != nullptr) {
    const dirent* entry = readdir(directory.get());
    if (entry == nullptr) {
      break;
    }
    if (const auto number = whole_number(entry->d_name)) {
      found.push_back(*number);
    }
  }
  return found;
}

}  // namespace

int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

std::string process_name(int pid) {
  std::string name = read_proc_file(pid, "comm");
  if (name.ends_with('\n')) {
    name.pop_back();
  }
  return name;
}

std::string join_command(const std::vector<std::string>& arguments) {
  constexpr size_t longest = 4096;
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) {
      line += ' ';
    }
    if (argument.empty() || argument.find_first_of(" \t\n\"'\\$") != std::string::npos) {
      // As a shell would take it back: in single quotes, a single quote as '\''.
      line += '\'';
      for (const char character : argument) {
        line += character == '\'' ? std::string("'\\''") : std::string(1, character);
      }
      line += '\'';
    } else {
      line += argument;
    }
    if (line.size() > longest) {
      line.resize(longest);
      break;
    }
  }
  return line;
}

std::string command_line(int pid) {
  std::string text = read_proc_file(pid, "cmdline");
  if (text.ends_with('\0')) {
    text.pop_back();
  }
  std::vector<std::string> arguments;
  if (!text.empty()) {
    for (const std::string_view argument : split(text, '\0')) {
      arguments.emplace_back(argument);
    }
  }
  return join_command(arguments);
}

std::optional<int32_t> innermost_id(std::string_view status) {
  const auto ids = field(status, "NSpid:");
  if (!ids) {
    return std::nullopt;
  }
  const size_t last = ids->find_last_of(" \t");
  return whole_number(last == std::string_view::npos ? *ids : ids->substr(last + 1));
}

std::optional<int32_t> namespace_pid(int pid) { return innermost_id(read_proc_file(pid, "status")); }

std::vector<ThreadIds> threads_of(int pid) {
  std::vector<ThreadIds> threads;
  for (const int id : numbers_in("/proc/" + std::to_string(pid) + "/task")) {
    const auto inner = innermost_id(read_proc_file(pid, "task/" + std::to_string(id) + "/status"));
    threads.push_back({inner.value_or(id), id});
  }
  return threads;
}

std::vector<int> all_processes() { return numbers_in("/proc"); }

std::vector<int> process_tree(int pid) {
  std::map<int, std::vector<int>> children;
  for (const int id : all_processes()) {
    const auto parent = field(read_proc_file(id, "status"), "PPid:").and_then(whole_number);
    if (parent) {
      children[*parent].push_back(id);
    }
  }
  std::vector<int> tree{pid};
  for (size_t index = 0; index < tree.size(); ++index) {
    const auto found = children.find(tree[index]);
    if (found != children.end()) {
      tree.insert(tree.end(), found->second.begin(), found->second.end());
    }
  }
  return tree;
}

std::optional<int32_t> thread_group(int id) {
  return field(read_proc_file(id, "status"), "Tgid:").and_then(whole_number);
}

}  // namespace kvet::record
