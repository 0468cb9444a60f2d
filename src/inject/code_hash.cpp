#include "inject/code_hash.h"

#include <elf.h>
#include <string.h>

#include "inject/memory.h"

namespace kvet::inject {
namespace {

constexpr uint64_t ambiguous = 1;
constexpr uint64_t any_registers = ~uint64_t{0};

uint64_t key_of(const char* name, size_t length, uint64_t registers) {
  const uint64_t key = hash_bytes(name, length, 0x6b76657400000000u ^ registers);
  return key == 0 ? 1 : key;
}

}  // namespace

// Multiply and fold, eight bytes at a time: about 5 GB/s, and good enough to tell codes and names apart.
uint64_t hash_bytes(const void* data, size_t size, uint64_t seed) {
  constexpr uint64_t factor = 0x9e3779b97f4a7c15u;  // 2^64 ÷ golden ratio, odd
  uint64_t value = seed ^ (size * factor);
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word = 0;
    memcpy(&word, bytes, 8);
    value = (value ^ word) * factor;
    value ^= value >> 29;
  }
  if (size > 0) {
    uint64_t word = 0;
    memcpy(&word, bytes, size);
    value = (value ^ word) * factor;
    value ^= value >> 29;
  }
  return value ^ (value >> 32);
}

bool CodeHashes::create() {
  if (cells_.load(std::memory_order_acquire) != nullptr) {
    return true;
  }
  Cell* fresh = static_cast<Cell*>(reserve(capacity * sizeof(Cell)));
  if (fresh == nullptr) {
    return false;
  }
  Cell* none = nullptr;
  if (!cells_.compare_exchange_strong(none, fresh, std::memory_order_acq_rel)) {
    release(fresh, capacity * sizeof(Cell));  // another thread was first
  }
  return true;
}

void CodeHashes::put(uint64_t key, uint64_t code_hash) {
  Cell* cells = cells_.load(std::memory_order_acquire);
  for (size_t at = key & (capacity - 1);; at = (at + 1) & (capacity - 1)) {
    uint64_t found = cells[at].key.load(std::memory_order_acquire);
    if (found == 0) {
      if (used_.fetch_add(1, std::memory_order_relaxed) > capacity / 4 * 3) {
        return;
      }
      cells[at].key.compare_exchange_strong(found, key, std::memory_order_acq_rel);
      if (found == 0) {
        found = key;
      }
    }
    if (found == key) {
      uint64_t known = 0;
      if (!cells[at].code.compare_exchange_strong(known, code_hash, std::memory_order_acq_rel) && known != code_hash) {
        cells[at].code.store(ambiguous, std::memory_order_release);
      }
      return;
    }
  }
}

uint64_t CodeHashes::get(uint64_t key) const {
  const Cell* cells = cells_.load(std::memory_order_acquire);
  if (cells == nullptr) {
    return 0;
  }
  for (size_t at = key & (capacity - 1);; at = (at + 1) & (capacity - 1)) {
    const uint64_t found = cells[at].key.load(std::memory_order_acquire);
    if (found == key) {
      return cells[at].code.load(std::memory_order_acquire);
    }
    if (found == 0) {
      return 0;
    }
  }
}

uint64_t CodeHashes::find(const char* name, uint32_t registers_per_thread) const {
  if (cells_.load(std::memory_order_acquire) == nullptr) {
    return 0;
  }
  const size_t length = strlen(name);
  uint64_t code = get(key_of(name, length, any_registers));
  if (code == ambiguous) {
    code = get(key_of(name, length, registers_per_thread));
  }
  return code == ambiguous ? 0 : code;
}

void CodeHashes::add(const char* name, size_t length, uint32_t registers, uint64_t code_hash) {
  if (!create()) {
    return;
  }
  put(key_of(name, length, any_registers), code_hash);
  put(key_of(name, length, registers), code_hash);
  generation_.fetch_add(1, std::memory_order_release);
}

// A module image, checked as it is read: it is the target's, and everything in it may be wrong.
class Image {
 public:
  bool open(const void* image, size_t size) {
    bytes_ = static_cast<const unsigned char*>(image);
    size_ = size;
    if (image == nullptr || size < sizeof(header_)) {
      return false;
    }
    memcpy(&header_, bytes_, sizeof(header_));
    if (memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
        header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shoff > size ||
        uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr) > size - header_.e_shoff ||
        header_.e_shstrndx >= header_.e_shnum) {
      return false;
    }
    names_ = section(header_.e_shstrndx);
    return inside(names_);
  }
  uint32_t sections() const { return header_.e_shnum; }
  Elf64_Shdr section(uint32_t number) const {
    Elf64_Shdr found;
    memcpy(&found, bytes_ + header_.e_shoff + uint64_t{number} * sizeof(found), sizeof(found));
    return found;
  }
  bool inside(const Elf64_Shdr& section) const {
    return section.sh_type != SHT_NOBITS && section.sh_offset <= size_ && section.sh_size <= size_ - section.sh_offset;
  }
  const unsigned char* content(const Elf64_Shdr& section) const { return bytes_ + section.sh_offset; }
  // The section's name, 0 bytes long where it has none that is terminated.
  const char* name(const Elf64_Shdr& section, size_t* length) const {
    *length = 0;
    if (section.sh_name >= names_.sh_size) {
      return nullptr;
    }
    const char* text = reinterpret_cast<const char*>(content(names_)) + section.sh_name;
    const size_t room = names_.sh_size - section.sh_name;
    const size_t found = strnlen(text, room);
    *length = found == room ? 0 : found;
    return text;
  }

 private:
  const unsigned char* bytes_ = nullptr;
  size_t size_ = 0;
  Elf64_Ehdr header_{};
  Elf64_Shdr names_{};
};

namespace {

constexpr char code_prefix[] = ".text.";
constexpr size_t prefix_length = sizeof(code_prefix) - 1;

bool is_code(const Image& image, const Elf64_Shdr& section, const char** name, size_t* length) {
  if (section.sh_type != SHT_PROGBITS || !image.inside(section)) {
    return false;
  }
  const char* text = image.name(section, length);
  if (*length <= prefix_length || memcmp(text, code_prefix, prefix_length) != 0) {
    return false;
  }
  *name = text + prefix_length;
  *length -= prefix_length;
  return true;
}

uint64_t hash_code(const Image& image, const Elf64_Shdr& section) {
  const uint64_t code = hash_bytes(image.content(section), section.sh_size, 0);
  return code <= ambiguous ? code + 2 : code;
}

// The attribute of the section ".nv.info" that gives a function's register count: a record of format 4 (a 16-bit size
// follows), attribute 0x2f, then the function's number in the symbol table and the count, as `cuobjdump -elf` shows them.
constexpr unsigned char format_sized = 4;
constexpr unsigned char attribute_register_count = 0x2f;

}  // namespace

void CodeHashes::add_image(const void* bytes, size_t size) {
  Image image;
  if (size > image_limit || !image.open(bytes, size)) {
    return;
  }
  Elf64_Shdr info{};
  Elf64_Shdr symbols{};
  for (uint32_t number = 0; number < image.sections(); ++number) {
    const Elf64_Shdr section = image.section(number);
    size_t length = 0;
    const char* name = image.name(section, &length);
    if (section.sh_type == SHT_SYMTAB && image.inside(section)) {
      symbols = section;
    } else if (length == 8 && memcmp(name, ".nv.info", 8) == 0 && image.inside(section)) {
      info = section;
    }
  }
  if (info.sh_size > 0 && symbols.sh_size > 0 && add_by_information(image, info, symbols)) {
    return;
  }
  // No such information: up to CUDA 12 the register count is also in the upper byte of sh_info.
  for (uint32_t number = 0; number < image.sections(); ++number) {
    const Elf64_Shdr section = image.section(number);
    const char* name = nullptr;
    size_t length = 0;
    if (is_code(image, section, &name, &length)) {
      add(name, length, section.sh_info >> 24, hash_code(image, section));
    }
  }
}

bool CodeHashes::add_by_information(const Image& image, const Elf64_Shdr& info, const Elf64_Shdr& symbols) {
  bool any = false;
  const unsigned char* content = image.content(info);
  for (uint64_t at = 0; at + 4 <= info.sh_size;) {
    uint16_t payload = 0;
    memcpy(&payload, content + at + 2, sizeof(payload));
    const bool sized = content[at] == format_sized;  // otherwise the two bytes are the value itself
    const uint64_t next = at + 4 + (sized ? payload : 0);
    if (next > info.sh_size) {
      break;
    }
    uint32_t values[2] = {};  // symbol, registers
    if (sized && content[at + 1] == attribute_register_count && payload >= sizeof(values)) {
      memcpy(values, content + at + 4, sizeof(values));
      Elf64_Sym symbol{};
      if (uint64_t{values[0]} < symbols.sh_size / sizeof(symbol)) {
        memcpy(&symbol, image.content(symbols) + uint64_t{values[0]} * sizeof(symbol), sizeof(symbol));
      }
      const char* name = nullptr;
      size_t length = 0;
      if (symbol.st_shndx != 0 && symbol.st_shndx < image.sections()) {
        const Elf64_Shdr section = image.section(symbol.st_shndx);
        if (is_code(image, section, &name, &length)) {
          add(name, length, values[1], hash_code(image, section));
          any = true;
        }
      }
    }
    at = next;
  }
  return any;
}

}  // namespace kvet::inject
