#include "base/input_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace kvet {
namespace {

class InputFile : public testing::Test {
 protected:
  InputFile() {
    std::string pattern = testing::TempDir() + "kvet_input_XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~InputFile() override { std::filesystem::remove_all(folder); }
  static void expect_refused(const std::string& path, const char* why) {
    const auto file = open_regular_file(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().exit_status(), 65);
    EXPECT_NE(file.error().message().find(why), std::string::npos) << file.error().message();
    EXPECT_EQ(file.error().subject, path);
  }
  std::string folder;
};

TEST_F(InputFile, OpensARegularFileAndALinkToOne) {
  std::ofstream(folder + "/a") << "xyz";
  std::filesystem::create_symlink("a", folder + "/link");
  for (const char* name : {"/a", "/link"}) {
    const auto file = open_regular_file(folder + name);
    ASSERT_TRUE(file) << file.error().message();
    char bytes[8] = {};
    EXPECT_EQ(::read(file->get(), bytes, sizeof bytes), 3);
    EXPECT_STREQ(bytes, "xyz");
  }
}

TEST_F(InputFile, SaysWhatThereIsInstead) {
  expect_refused(folder + "/nothing", "No such file or directory");
  expect_refused(folder, "is a folder");
  const std::string fifo = folder + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_refused(fifo, "not a regular file");  // nobody writes into it: opening it the usual way would wait for ever
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = folder + "/socket";
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  expect_refused(name, "not a regular file");
  ::close(listener);
}

}  // namespace
}  // namespace kvet
