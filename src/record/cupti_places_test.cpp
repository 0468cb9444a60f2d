#include "record/cupti_places.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kvet::record {
namespace {

namespace fs = std::filesystem;

class CuptiPlacesTest : public testing::Test {
 protected:
  void SetUp() override {
    char made[] = "/tmp/kvet-places-XXXXXX";
    ASSERT_NE(mkdtemp(made), nullptr);
    root_ = fs::canonical(made);
    write(root_ / "venv/bin/python3.11", "");
    fs::create_symlink("python3.11", root_ / "venv/bin/python");
    write(folder() / "libcupti.so.12", "");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    chmod(path.c_str(), 0755);
  }
  std::vector<std::string> places(const std::string& program) {
    return cupti_of_python(program, {"PATH=" + (root_ / "venv/bin").string(), "HOME=/nonexistent"}, {});
  }
  fs::path root_;
  fs::path folder() const { return root_ / "venv/lib/python3.11/site-packages/nvidia/cuda_cupti/lib"; }
};

TEST_F(CuptiPlacesTest, IsFoundBesideItsInterpreterAndThroughAScript) {
  const std::vector<std::string> expected{folder().string()};
  EXPECT_EQ(places(root_ / "venv/bin/python"), expected);
  write(root_ / "serve", "#!" + (root_ / "venv/bin/python3.11").string() + " -u\nimport this\n");
  EXPECT_EQ(places(root_ / "serve"), expected);
  write(root_ / "launch", "#!/usr/bin/env python\n");
  EXPECT_EQ(places(root_ / "launch"), expected);
}

TEST_F(CuptiPlacesTest, OtherProgramsHaveNone) {
  EXPECT_TRUE(places("/bin/sh").empty());
  write(root_ / "script", "#!/bin/sh\n");
  EXPECT_TRUE(places(root_ / "script").empty());
  EXPECT_TRUE(places(root_ / "absent").empty());
}

TEST_F(CuptiPlacesTest, AFileThatOthersCanChangeIsNotTaken) {
  chmod((folder() / "libcupti.so.12").c_str(), 0777);
  EXPECT_TRUE(places(root_ / "venv/bin/python").empty());
  chmod((folder() / "libcupti.so.12").c_str(), 0755);
  chmod(folder().c_str(), 0777);
  EXPECT_TRUE(places(root_ / "venv/bin/python").empty());
  chmod(folder().c_str(), 0755);
  if (geteuid() == 0) {
    ASSERT_EQ(chown((folder() / "libcupti.so.12").c_str(), 12'345, 12'345), 0);
    EXPECT_TRUE(places(root_ / "venv/bin/python").empty()) << "root does not load what somebody else owns";
  }
}

TEST(CuptiOfProcess, WithoutOneThereIsNone) { EXPECT_TRUE(cupti_of_process(getpid(), {}).empty()); }

}  // namespace
}  // namespace kvet::record
