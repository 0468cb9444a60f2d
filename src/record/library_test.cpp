// What a file is and whether two are one: by what is in them, not by their names.
#include "record/library.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "probes/launch/functions.h"
#include "probes/nccl/functions.h"
#include "record/testing/probe_environment.h"

namespace kvet::record {
namespace {

FileDescriptor place(const std::string& path) { return FileDescriptor(open(path.c_str(), O_PATH | O_CLOEXEC)); }

class LibraryTest : public testing::Test {
 protected:
  LibraryTest() {
    std::string name = "/tmp/kvet-library-test-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~LibraryTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  LibraryIndex index_{probes::launch_functions(false), probes::nccl_functions()};
};

TEST_F(LibraryTest, KindsAreKnownUnderAnyName) {
  const std::string odd = folder_ + "/plugin with blanks.bin";
  std::filesystem::copy_file(look_alike("nccl"), odd);
  const auto nccl = index_.identify(place(odd), odd);
  EXPECT_EQ(nccl->kind, LibraryKind::nccl);
  EXPECT_EQ(nccl->functions.size(), probes::nccl_functions().size());

  const auto cuda = index_.identify(place(look_alike("cuda")), "whatever");
  EXPECT_EQ(cuda->kind, LibraryKind::cuda);
  // All but the first capture function and its twin and the two that capture into a graph: it has 21 of 25.
  EXPECT_EQ(cuda->functions.size(), 21U);
  EXPECT_EQ(index_.identify(place("/proc/self/exe"), "self")->kind, LibraryKind::other);
  EXPECT_EQ(index_.identify(place("/dev/null"), "/dev/null")->kind, LibraryKind::other);
  EXPECT_EQ(index_.identify(FileDescriptor(), "gone")->kind, LibraryKind::other);
}

TEST_F(LibraryTest, TheInjectedLibraryIsKnown) {
  const std::string path = KVET_BINARY_DIR "/bin/libkvet_inject.so";
  EXPECT_EQ(index_.identify(place(path), path)->kind, LibraryKind::inject);
}

TEST_F(LibraryTest, OneFileIsLookedAtOnce) {
  const std::string link = folder_ + "/link.so";
  ASSERT_EQ(symlink(look_alike("cuda").c_str(), link.c_str()), 0);
  const auto first = index_.identify(place(look_alike("cuda")), "first");
  const FileDescriptor through_link(open(link.c_str(), O_PATH | O_CLOEXEC));
  EXPECT_EQ(index_.identify(FileDescriptor(dup(through_link.get())), "second"), first);
}

TEST_F(LibraryTest, ACopyIsAnotherLibrary) {
  const std::string copy = folder_ + "/copy.so";
  std::filesystem::copy_file(look_alike("cuda"), copy);
  const auto first = index_.identify(place(look_alike("cuda")), "first");
  const auto second = index_.identify(place(copy), "second");
  EXPECT_NE(first, second);
  EXPECT_FALSE(first->same_file(*second));
}

// Two overlay mounts show one file under two device numbers.
TEST_F(LibraryTest, TwoMountsOfOneLayerAreOneLibrary) {
  const std::string layer = std::filesystem::path(look_alike("cuda")).parent_path();
  for (const char* name : {"/a", "/b", "/empty"}) {
    ASSERT_EQ(mkdir((folder_ + name).c_str(), 0755), 0);
  }
  const std::string options = "lowerdir=" + layer + ":" + folder_ + "/empty";
  if (mount("overlay", (folder_ + "/a").c_str(), "overlay", MS_RDONLY, options.c_str()) != 0) {
    GTEST_SKIP() << "needs the right to mount an overlay";
  }
  if (mount("overlay", (folder_ + "/b").c_str(), "overlay", MS_RDONLY, options.c_str()) == 0) {
    const auto a = index_.identify(place(folder_ + "/a/liblook_alike_cuda.so"), "a");
    const auto b = index_.identify(place(folder_ + "/b/liblook_alike_cuda.so"), "b");
    EXPECT_EQ(a->kind, LibraryKind::cuda);
    EXPECT_NE(a->identity.device, b->identity.device) << "this kernel gives both mounts one device: nothing is shown";
    EXPECT_TRUE(a->same_file(*b));
    umount2((folder_ + "/b").c_str(), MNT_DETACH);
  } else {
    ADD_FAILURE() << "the second overlay mount failed";
  }
  umount2((folder_ + "/a").c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace kvet::record
