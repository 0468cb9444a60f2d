#include "inject/code_hash.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace kvet::inject {
namespace {

struct Function {
  std::string name, code;
  uint32_t registers;
};

// A module image as the ELF specification lays it out: header, section contents, section names, section headers.
std::vector<unsigned char> image(const std::vector<Function>& functions) {
  std::string names(1, '\0');
  std::string contents;
  std::vector<Elf64_Shdr> sections(1);
  for (const Function& function : functions) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<uint32_t>(names.size());
    names += ".text." + function.name + '\0';
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
    section.sh_size = function.code.size();
    section.sh_info = function.registers << 24 | 5;
    contents += function.code;
    sections.push_back(section);
  }
  Elf64_Shdr table{};
  table.sh_name = static_cast<uint32_t>(names.size());
  names += std::string(".shstrtab") + '\0';
  table.sh_type = SHT_STRTAB;
  table.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
  table.sh_size = names.size();
  sections.push_back(table);
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size());
  header.e_shstrndx = static_cast<uint16_t>(sections.size() - 1);
  header.e_shoff = sizeof(header) + contents.size() + names.size();
  std::vector<unsigned char> bytes(header.e_shoff + sections.size() * sizeof(Elf64_Shdr));
  memcpy(bytes.data(), &header, sizeof(header));
  memcpy(bytes.data() + sizeof(header), contents.data(), contents.size());
  memcpy(bytes.data() + table.sh_offset, names.data(), names.size());
  memcpy(bytes.data() + header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr));
  return bytes;
}

TEST(CodeHashes, SameCodeSameHashWhateverTheModule) {
  const auto one = image({{"norm", "code of norm, 32 registers......", 32}, {"gelu", "code of gelu", 40}});
  const auto two = image({{"unrelated", "x", 8}, {"norm", "code of norm, 32 registers......", 32}});
  CodeHashes first, second;
  first.add_image(one.data(), one.size());
  second.add_image(two.data(), two.size());
  EXPECT_NE(first.find("norm", 32), 0u);
  EXPECT_EQ(first.find("norm", 32), second.find("norm", 32));
  EXPECT_NE(first.find("norm", 32), first.find("gelu", 40));
  EXPECT_EQ(first.find("absent", 32), 0u);
}

TEST(CodeHashes, OneBitOfCodeIsAnotherHash) {
  auto before = image({{"norm", "0123456789abcde", 32}});
  auto after = image({{"norm", "0123456789abcdf", 32}});
  CodeHashes first, second;
  first.add_image(before.data(), before.size());
  second.add_image(after.data(), after.size());
  EXPECT_NE(first.find("norm", 32), second.find("norm", 32));
}

TEST(CodeHashes, TwoCodesOfOneNameAreToldApartByTheirRegisters) {
  const auto narrow = image({{"triton_", "variant a", 32}});
  const auto wide = image({{"triton_", "variant b", 64}});
  const auto wide_too = image({{"triton_", "variant c", 64}});
  CodeHashes hashes;
  hashes.add_image(narrow.data(), narrow.size());
  EXPECT_NE(hashes.find("triton_", 99), 0u) << "one code only: the registers do not matter";
  hashes.add_image(wide.data(), wide.size());
  EXPECT_NE(hashes.find("triton_", 32), 0u);
  EXPECT_NE(hashes.find("triton_", 64), 0u);
  EXPECT_NE(hashes.find("triton_", 32), hashes.find("triton_", 64));
  hashes.add_image(wide_too.data(), wide_too.size());
  EXPECT_NE(hashes.find("triton_", 32), 0u);
  EXPECT_EQ(hashes.find("triton_", 64), 0u) << "two codes with 64 registers: unknown rather than wrong";
}

TEST(CodeHashes, TheSameModuleTwiceIsNotAmbiguous) {
  const auto module = image({{"norm", "code", 32}});
  CodeHashes hashes;
  hashes.add_image(module.data(), module.size());
  hashes.add_image(module.data(), module.size());
  EXPECT_NE(hashes.find("norm", 32), 0u);
}

TEST(CodeHashes, ATruncatedImageIsReadNoFurtherThanItsEnd) {
  const auto whole = image({{"a", std::string(100, 'a'), 8}, {"b", std::string(100, 'b'), 8}});
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<unsigned char> cut(whole.begin(), whole.begin() + static_cast<long>(size));
    CodeHashes hashes;
    hashes.add_image(cut.data(), cut.size());  // the sanitizers watch
    EXPECT_EQ(hashes.find("a", 8), 0u) << "the section table is at the end";
  }
}

TEST(CodeHashes, EveryByteOfTheImageMayBeWrong) {
  const auto whole = image({{"a", "aaaa", 8}});
  for (size_t at = 0; at < whole.size(); ++at) {
    auto broken = whole;
    broken[at] = 0xff;
    CodeHashes hashes;
    hashes.add_image(broken.data(), broken.size());
    hashes.find("a", 8);
  }
}

// nvcc's own output, where there is an nvcc: the names, and that the two kernels of one template differ.
TEST(CodeHashes, RealModule) {
  const char* compiler = "/usr/local/cuda/bin/nvcc";
  if (access(compiler, X_OK) != 0) {
    GTEST_SKIP() << "no nvcc here";
  }
  const std::string folder = testing::TempDir();
  const std::string source = folder + "/kvet_code_hash.cu", module = folder + "/kvet_code_hash.cubin";
  FILE* file = fopen(source.c_str(), "w");
  ASSERT_NE(file, nullptr);
  fputs(R"(template <int N> __global__ void scale(float* p) { p[threadIdx.x] *= N; }
template __global__ void scale<3>(float*);
template __global__ void scale<5>(float*);
extern "C" __global__ void work(float* p) { p[threadIdx.x] = tanhf(p[threadIdx.x]); })",
        file);
  fclose(file);
  ASSERT_EQ(system((std::string(compiler) + " -cubin -arch=sm_90 -o " + module + " " + source).c_str()), 0);
  std::vector<unsigned char> bytes(1 << 20);
  file = fopen(module.c_str(), "r");
  ASSERT_NE(file, nullptr);
  bytes.resize(fread(bytes.data(), 1, bytes.size(), file));
  fclose(file);
  CodeHashes hashes;
  hashes.add_image(bytes.data(), bytes.size());
  EXPECT_NE(hashes.find("work", 0), 0u);
  EXPECT_NE(hashes.find("_Z5scaleILi3EEvPf", 0), 0u);
  EXPECT_NE(hashes.find("_Z5scaleILi3EEvPf", 0), hashes.find("_Z5scaleILi5EEvPf", 0));
  // Another code under the same name: then only the register count, which ptxas -v also prints, leads to the first.
  const std::string listing = folder + "/kvet_code_hash.txt";
  ASSERT_EQ(system((std::string(compiler) + " -Xptxas -v -cubin -arch=sm_90 -o /dev/null " + source +
                    " 2>&1 | grep -A3 \"'work'\" "
                    "| grep -o 'Used [0-9]* registers' | grep -o '[0-9]*' > " +
                    listing)
                       .c_str()),
            0);
  file = fopen(listing.c_str(), "r");
  ASSERT_NE(file, nullptr);
  unsigned registers = 0;
  ASSERT_EQ(fscanf(file, "%u", &registers), 1);
  fclose(file);
  const uint64_t code = hashes.find("work", registers);
  hashes.add("work", 4, registers + 1, 12345);
  EXPECT_EQ(hashes.find("work", registers), code);
  EXPECT_EQ(hashes.find("work", registers + 1), 12345u);
  EXPECT_EQ(hashes.find("work", registers + 2), 0u);
}

TEST(CodeHashes, LargeImagesAreLeftOut) {
  auto large = image({{"a", std::string(CodeHashes::image_limit, 'x'), 8}});
  CodeHashes hashes;
  hashes.add_image(large.data(), large.size());
  EXPECT_EQ(hashes.find("a", 8), 0u);
}

TEST(CodeHashes, MoreFunctionsThanFitLeaveTheEarlierOnesFindable) {
  CodeHashes hashes;
  constexpr uint32_t count = 100'000;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name = "kernel_" + std::to_string(i);
    hashes.add(name.data(), name.size(), 32, i + 2);
  }
  EXPECT_EQ(hashes.find("kernel_0", 32), 2u);
  EXPECT_EQ(hashes.find("kernel_40000", 32), 40'002u);
  EXPECT_EQ(hashes.find("kernel_99999", 32), 0u);
}

}  // namespace
}  // namespace kvet::inject
