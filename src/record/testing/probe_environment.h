// What tests need that run real BPF programs: whether they can, and the processes' own libraries as the recorder sees them.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "probes/kernel/ring.h"
#include "record/library.h"
#include "record/mappings.h"

// In a test: ends it, counted as skipped with the reason, where BPF programs cannot be loaded.
#define SKIP_WITHOUT_BPF()                                                                    \
  do {                                                                                        \
    if (auto possible = kvet::probes::TargetMap::create(); !possible) {                       \
      GTEST_SKIP() << "needs the right to load BPF programs: " << possible.error().message(); \
    }                                                                                         \
  } while (false)

namespace kvet::record {

inline std::string look_alike(const std::string& name) {
  return std::string(KVET_BINARY_DIR "/record_testing/liblook_alike_") + name + ".so";
}

// A library loaded into this process for the time of a test.
class Loaded {
 public:
  explicit Loaded(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~Loaded() {
    if (handle_ != nullptr) {
      dlclose(handle_);
    }
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  [[nodiscard]] bool valid() const { return handle_ != nullptr; }
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

// The library of this kind that this process has mapped, found as the recorder finds it; null where there is none.
inline std::shared_ptr<const Library> mapped_library(LibraryIndex& index, LibraryKind kind) {
  for (const Mapping& mapping : executable_mappings_of(getpid())) {
    auto library = index.identify(open_mapping(getpid(), mapping), mapping.path);
    if (library->kind == kind) {
      return library;
    }
  }
  return nullptr;
}

}  // namespace kvet::record
