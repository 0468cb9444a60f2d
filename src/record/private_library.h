// The injected library as a file of this recording's own, written from the bytes that the program carries. The probe in it
// can then be attached once for every process that maps the file, before any does: these are this recording's targets and
// nobody else.
#pragma once

#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace kvet::record {

class PrivateLibrary {
 public:
  // In a folder from which programs may be mapped. Errors: unavailable. What recorders that were killed have left there is
  // removed first, unless a process may still look for it.
  static Result<PrivateLibrary> create();
  PrivateLibrary(PrivateLibrary&& other) noexcept;
  PrivateLibrary& operator=(PrivateLibrary&&) = delete;
  ~PrivateLibrary();

  [[nodiscard]] const std::string& path() const { return path_; }
  // The target runs on, and what it starts later will look for the file: it stays (200 KB).
  void keep() { kept_ = true; }

 private:
  PrivateLibrary() = default;
  std::string folder_, path_;
  FileDescriptor lock_;  // on the file: ours as long as we live
  bool kept_ = false;
};

}  // namespace kvet::record
