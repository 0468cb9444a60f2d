#include "capability/libraries.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>

#include "base/file_descriptor.h"
#include "base/text.h"

namespace kvet::capability {

namespace {

constexpr std::string_view cache_magic = "glibc-ld.so.cache1.1";
constexpr size_t cache_header_bytes = 48, cache_entry_bytes = 24;
constexpr off_t cache_limit = 64 << 20;  // real ones are about 100 KiB

// Collects each file once, by device and inode.
class Finder {
 public:
  Finder(const System& system, std::string_view name) : system_(system), name_(name) {}

  void folder(const std::string& folder, const char* how) {
    std::vector<std::string> paths = system_.matches(folder + "/" + name_);
    for (std::string& path : system_.matches(folder + "/" + name_ + ".*")) {
      paths.push_back(std::move(path));
    }
    for (std::string& path : paths) {
      file(std::move(path), how);
    }
  }

  void file(std::string path, const char* how) {
    struct stat status{};
    if (::stat(system_.path(path).c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        seen_.emplace(status.st_dev, status.st_ino).second) {
      found_.push_back({std::move(path), how});
    }
  }

  [[nodiscard]] std::vector<FoundLibrary> take() { return std::move(found_); }

 private:
  const System& system_;
  std::string name_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<FoundLibrary> found_;
};

uint32_t word(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Calls visit(name, path) for every entry.
template <class Visit>
void for_each_cached(std::string_view cache, Visit visit) {
  const size_t begin = cache.find(cache_magic);  // an older table may stand in front
  if (begin == std::string_view::npos) {
    return;
  }
  cache.remove_prefix(begin);
  if (cache.size() < cache_header_bytes) {
    return;
  }
  const uint64_t count = word(cache, cache_magic.size());
  auto text = [&](uint32_t at) -> std::string_view {
    if (at >= cache.size()) {
      return {};
    }
    const std::string_view rest = cache.substr(at);
    const size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
  };
  for (uint64_t index = 0; index < count; ++index) {
    const size_t at = cache_header_bytes + index * cache_entry_bytes;
    if (at + cache_entry_bytes > cache.size()) {
      return;
    }
    const std::string_view name = text(word(cache, at + 4));
    const std::string_view path = text(word(cache, at + 8));
    if (!name.empty() && path.starts_with('/')) {
      visit(name, path);
    }
  }
}

bool is_version_of(std::string_view file, std::string_view name) {
  return file == name || (file.starts_with(name) && file.substr(name.size()).starts_with('.'));
}

std::string read_cache(const System& system) {
  const FileDescriptor file(::open(system.path("/etc/ld.so.cache").c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || status.st_size > cache_limit) {
    return {};
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  const ssize_t count = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return bytes;
}

std::vector<std::string> python_folders(const System& system) {
  std::vector<std::string> patterns;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string_view prefix = system.variable(variable); !prefix.empty()) {
      patterns.push_back(std::string(prefix) + "/lib/python3*/site-packages");
    }
  }
  // The Python that the path finds first may live in an environment of its own.
  for (std::string_view folder : split(system.variable("PATH"), ':')) {
    if (!folder.empty() && system.exists(std::string(folder) + "/python3")) {
      patterns.push_back(std::string(folder) + "/../lib/python3*/site-packages");
      break;
    }
  }
  if (const std::string_view home = system.variable("HOME"); !home.empty()) {
    patterns.push_back(std::string(home) + "/.local/lib/python3*/site-packages");
  }
  for (const char* pattern : {"/usr/local/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
                              "/usr/lib/python3*/dist-packages", "/usr/lib/python3*/site-packages",
                              "/opt/conda/lib/python3*/site-packages"}) {
    patterns.emplace_back(pattern);
  }
  return patterns;
}

}  // namespace

std::vector<std::string> cached_paths(std::string_view cache, std::string_view name) {
  std::vector<std::string> paths;
  for_each_cached(cache, [&](std::string_view entry, std::string_view path) {
    if (entry == name) {
      paths.emplace_back(path);
    }
  });
  return paths;
}

std::vector<FoundLibrary> find_library(const System& system, std::string_view name) {
  Finder finder(system, name);
  for (std::string_view folder : split(system.variable("LD_LIBRARY_PATH"), ':')) {
    if (!folder.empty()) {
      finder.folder(std::string(folder), "LD_LIBRARY_PATH");
    }
  }
  std::vector<std::string> cached;
  const std::string cache = read_cache(system);
  for_each_cached(cache, [&](std::string_view entry, std::string_view path) {
    if (is_version_of(entry, name)) {
      cached.emplace_back(path);
    }
  });
  for (std::string& path : cached) {
    finder.file(std::move(path), "the linker's cache");
  }
  // The linker's default folders, and where container tools and WSL put the driver.
  for (const char* folder : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
                             "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
                             "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib"}) {
    finder.folder(folder, "a system folder");
  }
  for (const char* folder : {"/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64", "/usr/local/cuda/lib",
                             "/usr/local/cuda-*/extras/CUPTI/lib64", "/usr/local/cuda-*/lib64", "/opt/cuda/lib64",
                             "/opt/cuda/extras/CUPTI/lib64"}) {
    finder.folder(folder, "the CUDA toolkit");
  }
  // The wheels nvidia-cuda-cupti, nvidia-nccl and, since CUDA 13, nvidia/cu13.
  for (const std::string& packages : python_folders(system)) {
    finder.folder(packages + "/nvidia/*/lib", "a Python package");
  }
  return finder.take();
}

}  // namespace kvet::capability
