#include "record/mappings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/testing/probe_environment.h"

namespace kvet::record {
namespace {

// Lines as proc_pid_maps(5) has them.
TEST(Mappings, ExecutableMappingsOfFilesOnly) {
  const auto found = executable_mappings(
      "55d0a0000000-55d0a0001000 r--p 00000000 08:01 131 /usr/bin/python3\n"
      "55d0a0001000-55d0a0002000 r-xp 00001000 08:01 131 /usr/bin/python3\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7f0000001000-7f0000002000 r-xp 00000000 00:00 0                          [vdso]\n"
      "7f0000002000-7f0000003000 r-xs 00000000 00:2a 9 /opt/my libs/libcuda.so.1 (deleted)\n"
      "7f0000003000-7f0000004000 --xp 00000000 08:01 7 /a\n"
      "not a line\n"
      "7f0000005000-7f0000006000 r-xp 00000000 08:01 8 /last without newline");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].begin, 0x55d0a0001000U);
  EXPECT_EQ(found[0].end, 0x55d0a0002000U);
  EXPECT_EQ(found[0].path, "/usr/bin/python3");
  EXPECT_EQ(found[1].path, "/opt/my libs/libcuda.so.1 (deleted)");
  EXPECT_EQ(found[2].path, "/a");
  EXPECT_EQ(found[3].path, "/last without newline");
}

TEST(Mappings, NothingComesOfNothing) {
  EXPECT_TRUE(executable_mappings("").empty());
  EXPECT_TRUE(executable_mappings("\n\n").empty());
  EXPECT_TRUE(executable_mappings("ffffffffffffffffff-1 r-xp 0 0 0 /x").empty());
  EXPECT_TRUE(executable_mappings_of(-1).empty());
  EXPECT_FALSE(open_mapping(-1, {1, 2, "/x"}).valid());
}

TEST(Mappings, TheVeryFileBehindAMappingIsOpened) {
  const Loaded library(look_alike("cuda"));
  ASSERT_TRUE(library.valid());
  struct stat wanted{};
  ASSERT_EQ(stat(look_alike("cuda").c_str(), &wanted), 0);
  bool seen = false;
  for (const Mapping& mapping : executable_mappings_of(getpid())) {
    if (mapping.path.ends_with("liblook_alike_cuda.so")) {
      struct stat got{};
      const FileDescriptor file = open_mapping(getpid(), mapping);
      ASSERT_EQ(fstat(file.get(), &got), 0);
      EXPECT_EQ(got.st_ino, wanted.st_ino);
      EXPECT_EQ(got.st_dev, wanted.st_dev);
      seen = true;
    }
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace kvet::record
