// Hears of every executable mapping that is made on the machine, so that a library is seen the moment a program loads it.
// The kernel writes these records at mmap and mprotect anyway for whoever asks; nothing is added to a target's other paths.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "record/mappings.h"

namespace kvet::record {

class MappingWatch {
 public:
  // Errors: unavailable (not allowed).
  static Result<MappingWatch> open();
  MappingWatch(MappingWatch&&) = default;
  MappingWatch& operator=(MappingWatch&&) = default;

  // Hands over what has arrived, in order per CPU. True: some were lost, so look at the targets' mappings anew.
  bool poll(const std::function<void(int pid, const Mapping&)>& handler);
  // Each becomes readable when something arrives on its CPU.
  [[nodiscard]] std::vector<int> descriptors() const;

 private:
  MappingWatch() = default;
  struct Unmap {
    size_t size;
    void operator()(void* memory) const;
  };
  struct Cpu {
    FileDescriptor event;
    std::unique_ptr<void, Unmap> memory;
  };
  bool poll(Cpu& cpu, const std::function<void(int pid, const Mapping&)>& handler);

  std::vector<Cpu> cpus_;
  std::vector<unsigned char> record_;
};

}  // namespace kvet::record
