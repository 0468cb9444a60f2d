#include "cuda/cubin.h"

#include <elf.h>

#include <cstring>

namespace simcuda::driver {
namespace {

constexpr size_t code_bytes = 256;

std::vector<unsigned char> code_of(const Function& function) {
  std::vector<unsigned char> code;
  auto add = [&](const auto& value) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
    code.insert(code.end(), bytes, bytes + sizeof value);
  };
  add(function.registers);
  add(function.static_shared_bytes);
  add(function.local_bytes);
  add(function.block_ns);
  add(function.read_bytes);
  add(function.write_bytes);
  add(function.instructions);
  code.push_back(function.argument_ns ? 1 : 0);
  code.push_back(function.is_collective ? 1 : 0);
  code.resize(code_bytes);
  return code;
}

}  // namespace

std::vector<unsigned char> make_cubin(const Module& module) {
  std::string names(1, '\0');
  auto add_name = [&](const std::string& name) {
    auto at = static_cast<Elf64_Word>(names.size());
    names += name;
    names += '\0';
    return at;
  };
  std::vector<Elf64_Shdr> sections(1);
  std::vector<unsigned char> image(sizeof(Elf64_Ehdr));
  for (const auto& function : module.functions) {
    std::vector<unsigned char> code = code_of(*function);
    Elf64_Shdr section{};
    section.sh_name = add_name(".text." + function->name);
    section.sh_type = SHT_PROGBITS;
    section.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    section.sh_offset = image.size();
    section.sh_size = code.size();
    section.sh_info = function->registers << 24;  // where NVIDIA's linker puts it
    sections.push_back(section);
    image.insert(image.end(), code.begin(), code.end());
  }
  Elf64_Shdr string_table{};
  string_table.sh_name = add_name(".shstrtab");
  string_table.sh_type = SHT_STRTAB;
  string_table.sh_offset = image.size();
  string_table.sh_size = names.size();
  sections.push_back(string_table);
  image.insert(image.end(), names.begin(), names.end());
  image.resize((image.size() + 7) / 8 * 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_CUDA;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shoff = image.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  std::memcpy(image.data(), &header, sizeof header);
  const auto* headers = reinterpret_cast<const unsigned char*>(sections.data());
  image.insert(image.end(), headers, headers + sections.size() * sizeof(Elf64_Shdr));
  return image;
}

}  // namespace simcuda::driver
