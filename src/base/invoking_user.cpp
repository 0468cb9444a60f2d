#include "base/invoking_user.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/file_descriptor.h"

extern char** environ;

namespace kvet {

namespace {

std::optional<uint32_t> number(const char* text) {
  if (text == nullptr) {
    return std::nullopt;
  }
  const std::string_view view(text);
  uint32_t value = 0;
  const auto parsed = std::from_chars(view.data(), view.data() + view.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != view.data() + view.size()) {
    return std::nullopt;
  }
  return value;
}

// Whole; "" where it cannot be read.
std::string read_proc_file(int pid, std::string_view name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + std::string(name);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  char buffer[4096];
  for (ssize_t size = 0; file.valid() && (size = read(file.get(), buffer, sizeof buffer)) > 0;) {
    content.append(buffer, static_cast<size_t>(size));
  }
  return content;
}

// "PID (name with ) in it) S PARENT …", proc_pid_stat(5).
int parent_of(int pid) {
  const std::string stat = read_proc_file(pid, "stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= stat.size()) {
    return 0;
  }
  return std::atoi(stat.c_str() + name_end + 4);
}

// With a pseudo-terminal of its own sudo has two processes above us; both were started from the person's environment.
std::string environment_of_sudo() {
  int pid = getppid();
  for (int generation = 0; generation < 32 && pid > 1; ++generation, pid = parent_of(pid)) {
    if (read_proc_file(pid, "comm") == "sudo\n") {
      return read_proc_file(pid, "environ");
    }
  }
  return {};
}

}  // namespace

std::optional<InvokingUser> invoking_user() {
  if (geteuid() != 0) {
    return std::nullopt;
  }
  const auto user = number(std::getenv("SUDO_UID"));
  const auto group = number(std::getenv("SUDO_GID"));
  if (!user || !group || *user == 0) {
    return std::nullopt;
  }
  InvokingUser found{.user = *user, .group = *group, .name = {}, .home = "/", .shell = "/bin/sh"};
  if (const passwd* entry = getpwuid(*user); entry != nullptr) {
    found.name = entry->pw_name;
    found.home = entry->pw_dir;
    found.shell = entry->pw_shell;
  }
  return found;
}

std::vector<gid_t> groups_of(const InvokingUser& user) {
  std::vector<gid_t> groups(64);
  int count = static_cast<int>(groups.size());
  if (user.name.empty()) {
    return {user.group};
  }
  if (getgrouplist(user.name.c_str(), user.group, groups.data(), &count) < 0) {
    groups.resize(static_cast<size_t>(count));
    getgrouplist(user.name.c_str(), user.group, groups.data(), &count);
  }
  groups.resize(static_cast<size_t>(count));
  return groups;
}

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  return environment;
}

Environment parse_environment(std::string_view text) {
  Environment environment;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    const std::string_view entry = text.substr(0, end);
    // What has no name cannot be passed on: a process may have written over its environment.
    if (entry.find('=') != std::string_view::npos && entry.front() != '=') {
      environment.emplace_back(entry);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return environment;
}

Environment environment_of(const InvokingUser& user) {
  Environment environment = parse_environment(environment_of_sudo());
  if (!environment.empty()) {
    return environment;
  }
  environment = own_environment();
  for (const char* name : {"SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "MAIL"}) {
    unset_variable(environment, name);
  }
  set_variable(environment, "HOME", user.home);
  set_variable(environment, "SHELL", user.shell);
  if (!user.name.empty()) {
    set_variable(environment, "USER", user.name);
    set_variable(environment, "LOGNAME", user.name);
  }
  return environment;
}

std::optional<std::string_view> variable(const Environment& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

void unset_variable(Environment& environment, std::string_view name) {
  std::erase_if(environment, [&](const std::string& entry) {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
  });
}

void set_variable(Environment& environment, std::string_view name, std::string_view value) {
  unset_variable(environment, name);
  environment.push_back(std::string(name) + "=" + std::string(value));
}

}  // namespace kvet
