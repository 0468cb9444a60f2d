#include "record/elf_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace kvet::record {

namespace {

// More of anything than a real file has: beyond it the file is taken for broken.
constexpr uint64_t max_segments = 4096;
constexpr uint64_t max_dynamic_entries = 65536;
constexpr uint64_t max_name = 4096;
constexpr uint64_t max_chain = 1U << 20;
constexpr uint64_t max_note_bytes = 65536;

#if defined(__aarch64__)
constexpr uint16_t this_machine = EM_AARCH64;
#else
constexpr uint16_t this_machine = EM_X86_64;
#endif

bool read_exactly(int descriptor, void* to, size_t size, uint64_t offset) {
  if (offset > INT64_MAX) {
    return false;
  }
  return pread(descriptor, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

template <class Value>
std::optional<Value> read_value(int descriptor, uint64_t offset) {
  Value value;
  if (!read_exactly(descriptor, &value, sizeof value, offset)) {
    return std::nullopt;
  }
  return value;
}

// The hash functions of the two kinds of table: System V gABI chapter 5, and glibc's elf/dl-lookup.c (the "djb2" hash).
uint32_t system_v_hash(std::string_view name) {
  uint32_t hash = 0;
  for (const char character : name) {
    hash = (hash << 4) + static_cast<unsigned char>(character);
    hash ^= (hash & 0xf0000000U) >> 24;
    hash &= 0x0fffffffU;
  }
  return hash;
}
uint32_t gnu_hash(std::string_view name) {
  uint32_t hash = 5381;
  for (const char character : name) {
    hash = hash * 33 + static_cast<unsigned char>(character);
  }
  return hash;
}

}  // namespace

Result<ElfFile> ElfFile::open(int descriptor) {
  ElfFile file;
  file.descriptor_ = descriptor;
  if (!file.read_program_headers() || !file.read_dynamic()) {
    return fail(ErrorKind::bad_input, "not an ELF library of this machine");
  }
  return file;
}

bool ElfFile::read_program_headers() {
  const auto header = read_value<Elf64_Ehdr>(descriptor_, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_machine != this_machine || header->e_phentsize != sizeof(Elf64_Phdr) ||
      header->e_phnum > max_segments) {
    return false;
  }
  segments_.resize(header->e_phnum);
  if (!read_exactly(descriptor_, segments_.data(), segments_.size() * sizeof(Elf64_Phdr), header->e_phoff)) {
    return false;
  }
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_NOTE && build_id_.empty()) {
      read_notes(segment);
    }
  }
  return true;
}

void ElfFile::read_notes(const Elf64_Phdr& segment) {
  uint64_t at = segment.p_offset;
  const uint64_t end = at + std::min(segment.p_filesz, max_note_bytes);
  while (at + sizeof(Elf64_Nhdr) <= end) {
    const auto note = read_value<Elf64_Nhdr>(descriptor_, at);
    if (!note) {
      return;
    }
    const uint64_t name_at = at + sizeof *note;
    const uint64_t content_at = name_at + ((uint64_t{note->n_namesz} + 3) & ~uint64_t{3});
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && note->n_descsz <= 64) {
      char name[4];
      std::string content(note->n_descsz, '\0');
      if (read_exactly(descriptor_, name, sizeof name, name_at) && std::memcmp(name, "GNU", 4) == 0 &&
          read_exactly(descriptor_, content.data(), content.size(), content_at)) {
        build_id_ = std::move(content);
        return;
      }
    }
    at = content_at + ((uint64_t{note->n_descsz} + 3) & ~uint64_t{3});
  }
}

bool ElfFile::read_dynamic() {
  const auto found = std::ranges::find(segments_, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (found == segments_.end()) {
    return false;
  }
  const uint64_t entries = std::min(found->p_filesz / sizeof(Elf64_Dyn), max_dynamic_entries);
  std::optional<uint64_t> soname_at;
  for (uint64_t index = 0; index < entries; ++index) {
    const auto entry = read_value<Elf64_Dyn>(descriptor_, found->p_offset + index * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) {
      break;
    }
    switch (entry->d_tag) {
      case DT_SONAME: soname_at = entry->d_un.d_val; break;
      case DT_STRSZ: strings_size_ = entry->d_un.d_val; break;
      case DT_STRTAB: strings_ = file_offset(entry->d_un.d_ptr).value_or(0); break;
      case DT_SYMTAB: symbols_ = file_offset(entry->d_un.d_ptr).value_or(0); break;
      case DT_GNU_HASH: gnu_hash_ = file_offset(entry->d_un.d_ptr).value_or(0); break;
      case DT_HASH: hash_ = file_offset(entry->d_un.d_ptr).value_or(0); break;
      default: break;
    }
  }
  if (strings_ == 0 || symbols_ == 0 || (gnu_hash_ == 0 && hash_ == 0)) {
    return false;
  }
  if (soname_at && *soname_at < strings_size_) {
    char name[256] = {};
    const size_t size = std::min<uint64_t>(sizeof name - 1, strings_size_ - *soname_at);
    if (read_exactly(descriptor_, name, size, strings_ + *soname_at)) {
      soname_ = name;
    }
  }
  return true;
}

std::optional<uint64_t> ElfFile::file_offset(uint64_t address) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

std::optional<Elf64_Sym> ElfFile::symbol(uint64_t index) const {
  return read_value<Elf64_Sym>(descriptor_, symbols_ + index * sizeof(Elf64_Sym));
}

bool ElfFile::has_name(const Elf64_Sym& symbol, std::string_view name) const {
  if (name.size() >= max_name || symbol.st_name >= strings_size_ || strings_size_ - symbol.st_name <= name.size()) {
    return false;
  }
  std::string text(name.size() + 1, '\1');
  return read_exactly(descriptor_, text.data(), text.size(), strings_ + symbol.st_name) && text.back() == '\0' &&
         std::string_view(text).substr(0, name.size()) == name;
}

std::optional<Elf64_Sym> ElfFile::find_by_gnu_hash(std::string_view name) const {
  struct Header {
    uint32_t buckets, first_symbol, bloom_words, bloom_shift;
  };
  const auto header = read_value<Header>(descriptor_, gnu_hash_);
  if (!header || header->buckets == 0 || header->bloom_words == 0) {
    return std::nullopt;
  }
  const uint32_t hash = gnu_hash(name);
  const uint64_t bloom = gnu_hash_ + sizeof *header;
  const auto word = read_value<uint64_t>(descriptor_, bloom + 8 * (uint64_t{hash / 64} % header->bloom_words));
  const uint64_t bits = uint64_t{1} << (hash % 64) | uint64_t{1} << ((hash >> (header->bloom_shift % 32)) % 64);
  if (!word || (*word & bits) != bits) {
    return std::nullopt;
  }
  const uint64_t buckets = bloom + 8 * uint64_t{header->bloom_words};
  const uint64_t chain = buckets + 4 * uint64_t{header->buckets};
  auto index = read_value<uint32_t>(descriptor_, buckets + 4 * uint64_t{hash % header->buckets});
  if (!index || *index < header->first_symbol) {
    return std::nullopt;
  }
  for (uint64_t step = 0; step < max_chain; ++step, ++*index) {
    const auto value = read_value<uint32_t>(descriptor_, chain + 4 * uint64_t{*index - header->first_symbol});
    if (!value) {
      return std::nullopt;
    }
    if ((*value | 1) == (hash | 1)) {
      if (const auto candidate = symbol(*index); candidate && has_name(*candidate, name)) {
        return candidate;
      }
    }
    if ((*value & 1) != 0) {
      return std::nullopt;  // the end of the chain
    }
  }
  return std::nullopt;
}

std::optional<Elf64_Sym> ElfFile::find_by_hash(std::string_view name) const {
  const auto buckets = read_value<uint32_t>(descriptor_, hash_);
  const auto chains = read_value<uint32_t>(descriptor_, hash_ + 4);
  if (!buckets || !chains || *buckets == 0) {
    return std::nullopt;
  }
  auto index = read_value<uint32_t>(descriptor_, hash_ + 8 + 4 * uint64_t{system_v_hash(name) % *buckets});
  for (uint64_t step = 0; index && *index != 0 && *index < *chains && step < max_chain; ++step) {
    if (const auto candidate = symbol(*index); candidate && has_name(*candidate, name)) {
      return candidate;
    }
    index = read_value<uint32_t>(descriptor_, hash_ + 8 + 4 * (uint64_t{*buckets} + *index));
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfFile::function_offset(std::string_view name) const {
  const auto found = gnu_hash_ != 0 ? find_by_gnu_hash(name) : find_by_hash(name);
  if (!found || found->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(found->st_info) != STT_FUNC) {
    return std::nullopt;
  }
  return file_offset(found->st_value);
}

}  // namespace kvet::record
