// The file that targets load, and how long it stays.
#include "record/private_library.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace kvet::record {
namespace {

TEST(PrivateLibrary, IsGoneWithItsRecording) {
  std::string path;
  {
    auto library = PrivateLibrary::create();
    ASSERT_TRUE(library);
    path = library->path();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

class LeftOver : public testing::Test {
 protected:
  void SetUp() override {
    char place[] = "/tmp/kvet-left-over-test-XXXXXX";
    ASSERT_NE(mkdtemp(place), nullptr);
    place_ = place;
    setenv("TMPDIR", place, 1);
    folder_ = place_ / "kvet-aBcD12";
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "libkvet_inject.so") << "left";
    age();
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    std::filesystem::remove_all(place_);
  }
  void age() const {
    std::filesystem::last_write_time(folder_, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
  std::filesystem::path place_, folder_;
};

TEST_F(LeftOver, OfAKilledRecorderIsRemovedByTheNext) {
  auto library = PrivateLibrary::create();
  ASSERT_TRUE(library);
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_TRUE(std::filesystem::exists(library->path()));
}

TEST_F(LeftOver, WhatAnotherRecorderHasIsNotRemoved) {
  auto first = PrivateLibrary::create();
  ASSERT_TRUE(first);
  std::filesystem::last_write_time(std::filesystem::path(first->path()).parent_path(),
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  auto second = PrivateLibrary::create();
  ASSERT_TRUE(second);
  EXPECT_TRUE(std::filesystem::exists(first->path()));
}

TEST_F(LeftOver, AFolderWithSomethingElseInItIsNotTouched) {
  std::filesystem::remove(folder_ / "libkvet_inject.so");
  std::ofstream(folder_ / "notes") << "mine";
  age();
  ASSERT_TRUE(PrivateLibrary::create());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "notes"));
}

// Whoever could take the name would be loaded by it.
TEST(PrivateLibrary, StaysWhileAProcessHasItsPath) {
  auto created = PrivateLibrary::create();
  ASSERT_TRUE(created);
  std::optional<PrivateLibrary> library(std::move(*created));
  const std::string path = library->path();
  const std::string variable = "CUDA_INJECTION64_PATH=" + path;
  int in[2], out[2];
  ASSERT_EQ(pipe(in), 0);
  ASSERT_EQ(pipe(out), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    close(in[1]);
    const char* const arguments[] = {"sh", "-c", "echo up; read word", nullptr};
    const char* const environment[] = {variable.c_str(), nullptr};
    execve("/bin/sh", const_cast<char**>(arguments), const_cast<char**>(environment));
    _exit(127);
  }
  char up = 0;
  ASSERT_EQ(read(out[0], &up, 1), 1);
  library.reset();
  EXPECT_TRUE(std::filesystem::exists(path));
  close(in[1]);
  waitpid(child, nullptr, 0);
  for (const int descriptor : {in[0], out[0], out[1]}) {
    close(descriptor);
  }
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

}  // namespace
}  // namespace kvet::record
