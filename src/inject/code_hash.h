// A hash of each kernel's machine code, so that two generated kernels of one name can be told apart.
//
// CUPTI shows a module's image (an ELF file whose section ".text.NAME" is the code of kernel NAME) while it is loaded,
// and at no other time for certain. Written by whatever thread loads a module, read by the collector: lock-free.
#pragma once

#include <elf.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kvet::inject {

class Image;

class CodeHashes {
 public:
  // Takes in a module. Large ones are left out: 8 MiB hash in about 2 ms, beside the milliseconds that loading takes.
  static constexpr size_t image_limit = 8u << 20;
  void add_image(const void* image, size_t size);

  // The hash of the code of kernel `name`. Several codes under one name are told apart by the registers that they use.
  // 0: unknown, or still ambiguous.
  uint64_t find(const char* name, uint32_t registers_per_thread) const;

  // Grows with every function that comes: what find() said before may not hold any more.
  uint32_t generation() const { return generation_.load(std::memory_order_acquire); }

  // One function. `code_hash` is neither 0 nor 1.
  void add(const char* name, size_t length, uint32_t registers, uint64_t code_hash);

 private:
  struct Cell {
    std::atomic<uint64_t> key;  // 0: empty
    std::atomic<uint64_t> code;  // 0: being written; 1: two functions under this key
  };
  bool add_by_information(const Image& image, const Elf64_Shdr& info, const Elf64_Shdr& symbols);
  void put(uint64_t key, uint64_t code_hash);
  uint64_t get(uint64_t key) const;
  bool create();

  static constexpr size_t capacity = 1u << 17;  // two cells per function: 49,000 functions at three quarters full
  std::atomic<Cell*> cells_{nullptr};
  std::atomic<size_t> used_{0};
  std::atomic<uint32_t> generation_{0};
};

// 64 bits over `size` bytes.
uint64_t hash_bytes(const void* data, size_t size, uint64_t seed);

}  // namespace kvet::inject
