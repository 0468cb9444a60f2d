// The application's side of NVTX 3, as far as the workloads need it: push, pop, and a domain. At its first use the library that
// NVTX_INJECTION64_PATH names is loaded and fills the slots; without one a range costs nothing.
#pragma once

namespace workloads::nvtx {

void push(const char* name);
void pop();

// A range for as long as this lives.
class Range {
 public:
  explicit Range(const char* name) { push(name); }
  ~Range() { pop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace workloads::nvtx
