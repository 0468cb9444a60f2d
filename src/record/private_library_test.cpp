// The file that targets load, and how long it stays.
#include "record/private_library.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
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
