// Offsets of functions, held against the running program itself: the bytes at the offset in the file are those at the
// function's address. And files that are broken on purpose.
#include "record/elf_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>

#include "base/file_descriptor.h"
#include "record/testing/probe_environment.h"

namespace kvet::record {
namespace {

FileDescriptor open_file(const std::string& path) { return FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

TEST(ElfFile, TheOffsetLeadsToTheFunctionsOwnBytes) {
  const std::string path = look_alike("cuda");
  const Loaded library(path);
  ASSERT_TRUE(library.valid());
  const FileDescriptor file = open_file(path);
  const auto elf = ElfFile::open(file.get());
  ASSERT_TRUE(elf) << elf.error().message();
  EXPECT_EQ(elf->soname(), "libcuda.so.1");
  for (const char* name : {"cuLaunchKernel", "cuLaunchKernel_ptsz", "cuGraphLaunch", "cuStreamEndCapture"}) {
    const auto offset = elf->function_offset(name);
    ASSERT_TRUE(offset) << name;
    std::array<unsigned char, 8> in_file{}, in_memory{};
    ASSERT_EQ(pread(file.get(), in_file.data(), in_file.size(), static_cast<off_t>(*offset)), 8);
    std::memcpy(in_memory.data(), reinterpret_cast<const void*>(library.find<int()>(name)), in_memory.size());
    EXPECT_EQ(in_file, in_memory) << name;
  }
}

TEST(ElfFile, WhatIsNotAFunctionOfTheFileIsNotFound) {
  const FileDescriptor file = open_file(look_alike("cuda"));
  const auto elf = ElfFile::open(file.get());
  ASSERT_TRUE(elf);
  EXPECT_FALSE(elf->function_offset("cuLaunchKerne"));
  EXPECT_FALSE(elf->function_offset("cuLaunchKernelX"));
  EXPECT_FALSE(elf->function_offset(""));
  EXPECT_FALSE(elf->function_offset("look_alike_result"));  // data
  EXPECT_FALSE(elf->function_offset("__cxa_finalize"));     // imported
}

// A library of the system, whose hash table has thousands of entries: against the dynamic linker.
TEST(ElfFile, FunctionsOfTheCLibraryAreFound) {
  Dl_info where{};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "getpid"), &where), 0);
  const FileDescriptor file = open_file(where.dli_fname);
  const auto elf = ElfFile::open(file.get());
  ASSERT_TRUE(elf) << where.dli_fname;
  EXPECT_EQ(elf->soname(), "libc.so.6");
  EXPECT_FALSE(elf->build_id().empty());
  for (const char* name : {"getpid", "getppid", "getuid", "gnu_get_libc_version", "fnmatch"}) {
    const auto offset = elf->function_offset(name);
    ASSERT_TRUE(offset) << name;
    std::array<unsigned char, 8> in_file{}, in_memory{};
    ASSERT_EQ(pread(file.get(), in_file.data(), in_file.size(), static_cast<off_t>(*offset)), 8);
    std::memcpy(in_memory.data(), dlsym(RTLD_DEFAULT, name), in_memory.size());
    EXPECT_EQ(in_file, in_memory) << name;
  }
}

TEST(ElfFile, OtherFilesAreRefused) {
  for (const char* path : {"/proc/self/status", "/dev/null", "/etc/passwd"}) {
    const FileDescriptor file = open_file(path);
    EXPECT_FALSE(ElfFile::open(file.get())) << path;
  }
  EXPECT_FALSE(ElfFile::open(-1));
}

// The file belongs to the target, which may have written anything into it. Seeded, so that a failure can be repeated.
TEST(ElfFile, DamagedFilesEndInAnAnswer) {
  const FileDescriptor good = open_file(look_alike("cuda"));
  std::string bytes(static_cast<size_t>(lseek(good.get(), 0, SEEK_END)), '\0');
  ASSERT_EQ(pread(good.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  const auto elf = ElfFile::open(good.get());
  ASSERT_TRUE(elf);
  std::mt19937 random(20240817);
  size_t opened = 0, found = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    // The headers and tables lie in the first pages.
    const size_t reach = round % 2 == 0 ? 4096 : damaged.size();
    for (int flip = 0; flip < 1 + round % 8; ++flip) {
      damaged[random() % reach] = static_cast<char>(random());
    }
    damaged.resize(round % 3 == 0 ? 1 + random() % damaged.size() : damaged.size());
    const FileDescriptor file(memfd_create("damaged", MFD_CLOEXEC));
    ASSERT_EQ(write(file.get(), damaged.data(), damaged.size()), static_cast<ssize_t>(damaged.size()));
    if (const auto broken = ElfFile::open(file.get())) {
      ++opened;
      found += broken->function_offset("cuLaunchKernel") ? 1 : 0;
      found += broken->function_offset("cuStreamWaitEvent_ptsz") ? 1 : 0;
    }
  }
  // Both happened, so the damage reached what it was to reach.
  EXPECT_GT(opened, 0U);
  EXPECT_LT(opened, 3000U);
  EXPECT_GT(found, 0U);
}

}  // namespace
}  // namespace kvet::record
