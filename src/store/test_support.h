// Shared by the tests of the capture file.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace kvet::store {

inline void remove_capture(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::remove((path + suffix).c_str());
  }
}

// A path in the tests' folder at which nothing lies; the process id keeps parallel runs apart. What is made there is removed
// when the test program ends.
inline std::string fresh_path(const std::string& name) {
  struct Paths {
    std::vector<std::string> all;
    ~Paths() {
      for (const std::string& path : all) {
        remove_capture(path);
      }
    }
  };
  static Paths paths;
  // In memory where there is such a folder: thousands of small files are made.
  const std::string folder = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir();
  paths.all.push_back(folder + std::to_string(::getpid()) + "_" + name);
  remove_capture(paths.all.back());
  return paths.all.back();
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
}

}  // namespace kvet::store
