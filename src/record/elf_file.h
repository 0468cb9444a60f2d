// The dynamic symbols of an ELF file, looked up through its own hash table, so that a look-up costs a few small reads even
// in a library of a gigabyte. The file belongs to the target: every number in it is checked.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvet::record {

class ElfFile {
 public:
  // `descriptor` stays the caller's. Errors: bad_input (not an ELF file of this machine's kind, or no dynamic section).
  static Result<ElfFile> open(int descriptor);

  [[nodiscard]] const std::string& soname() const { return soname_; }  // "" where it has none
  // Offset in the file of a function that the file defines; empty where it does not.
  [[nodiscard]] std::optional<uint64_t> function_offset(std::string_view name) const;
  // The file's own content hash (NT_GNU_BUILD_ID), as bytes; "" where it has none.
  [[nodiscard]] const std::string& build_id() const { return build_id_; }

 private:
  ElfFile() = default;
  [[nodiscard]] bool read_program_headers();
  [[nodiscard]] bool read_dynamic();
  void read_notes(const Elf64_Phdr& segment);
  [[nodiscard]] std::optional<uint64_t> file_offset(uint64_t address) const;
  [[nodiscard]] std::optional<Elf64_Sym> symbol(uint64_t index) const;
  [[nodiscard]] bool has_name(const Elf64_Sym& symbol, std::string_view name) const;
  [[nodiscard]] std::optional<Elf64_Sym> find_by_gnu_hash(std::string_view name) const;
  [[nodiscard]] std::optional<Elf64_Sym> find_by_hash(std::string_view name) const;

  int descriptor_ = -1;
  std::vector<Elf64_Phdr> segments_;
  uint64_t strings_ = 0, strings_size_ = 0, symbols_ = 0, gnu_hash_ = 0, hash_ = 0;  // file offsets; 0: none
  std::string soname_, build_id_;
};

}  // namespace kvet::record
