#include "record/cupti_places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "record/mappings.h"
#include "record/target.h"

namespace kvet::record {

namespace {

namespace fs = std::filesystem;

// The interpreter in a script's first line, `/usr/bin/env NAME` looked up; the program itself where it is no script.
std::string interpreter_of(const std::string& program, const Environment& environment) {
  std::ifstream file(program, std::ios::binary);
  std::string line(256, '\0');  // as far as the kernel reads it, execve(2)
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<size_t>(file.gcount()));
  if (!line.starts_with("#!")) {
    return program;
  }
  std::istringstream words(line.substr(2, line.find('\n') - 2));
  std::string first, second;
  words >> first >> second;
  if (fs::path(first).filename() == "env" && !second.starts_with("-")) {
    return find_command(second, environment).value_or("");
  }
  return first;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> list;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    list.push_back(at->path());
  }
  std::ranges::sort(list, std::greater<>{});  // newer versions first
  return list;
}

void add_packages(std::vector<std::string>& places, const fs::path& library, const std::optional<InvokingUser>& user) {
  std::error_code error;
  for (const fs::path& version : entries(library)) {
    if (!version.filename().string().starts_with("python3")) {
      continue;
    }
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const char* package : {"cu13", "cuda_cupti"}) {
        const fs::path folder = version / packages / "nvidia" / package / "lib";
        const auto files = entries(folder);
        const bool there = std::ranges::any_of(
            files, [](const fs::path& one) { return one.filename().string().starts_with("libcupti.so"); });
        if (there && std::ranges::all_of(files, [&](const fs::path& one) { return is_ours(one, user); })) {
          places.push_back(folder);
        }
      }
    }
  }
}

}  // namespace

bool is_ours(const std::string& path, const std::optional<InvokingUser>& user) {
  std::error_code error;
  fs::path at = fs::canonical(path, error);
  if (error) {
    return false;
  }
  for (;; at = at.parent_path()) {
    struct stat status{};
    if (stat(at.c_str(), &status) != 0) {
      return false;
    }
    const bool owner = status.st_uid == 0 || status.st_uid == geteuid() || (user && status.st_uid == user->user);
    const bool open = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0;
    if (!owner || open) {
      return false;
    }
    if (at == at.root_path()) {
      return true;
    }
  }
}

std::vector<std::string> cupti_of_process(int pid, const std::optional<InvokingUser>& user) {
  std::vector<std::string> places;
  for (const Mapping& mapping : executable_mappings_of(pid)) {
    if (!fs::path(mapping.path).filename().string().starts_with("libcupti.so") ||
        std::ranges::find(places, mapping.path) != places.end()) {
      continue;
    }
    // A path of another mount namespace means another file here, or one that root of a container made.
    const FileDescriptor file = open_mapping(pid, mapping);
    struct stat theirs{};
    struct stat here{};
    if (file.valid() && fstat(file.get(), &theirs) == 0 && stat(mapping.path.c_str(), &here) == 0 &&
        theirs.st_dev == here.st_dev && theirs.st_ino == here.st_ino && is_ours(mapping.path, user)) {
      places.push_back(mapping.path);
    }
  }
  return places;
}

std::vector<std::string> cupti_of_python(const std::string& program, const Environment& environment,
                                         const std::optional<InvokingUser>& user) {
  const fs::path interpreter = interpreter_of(program, environment);
  std::vector<std::string> places;
  if (!interpreter.filename().string().starts_with("python")) {
    return places;
  }
  // PREFIX/bin/python: a virtual environment's own packages first, then those of the Python that it was made from.
  std::error_code error;
  const fs::path real = fs::canonical(interpreter, error);
  add_packages(places, interpreter.parent_path().parent_path() / "lib", user);
  if (!error && real.parent_path() != interpreter.parent_path()) {
    add_packages(places, real.parent_path().parent_path() / "lib", user);
  }
  if (const auto home = variable(environment, "HOME")) {
    add_packages(places, fs::path(*home) / ".local" / "lib", user);
  }
  return places;
}

}  // namespace kvet::record
