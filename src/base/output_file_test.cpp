#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kvet {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string pattern = testing::TempDir() + "kvet_output_XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~OutputFileTest() override { fs::remove_all(folder); }
  [[nodiscard]] std::string path(const char* name) const { return (folder / name).string(); }
  static std::string content(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
  }
  [[nodiscard]] size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
  }
  fs::path folder;
};

TEST_F(OutputFileTest, AppearsOnlyWhenItIsFinished) {
  auto output = OutputFile::create(path("a"));
  ASSERT_TRUE(output);
  const std::string piece(1000, 'x');  // 1 MB in all: more than is buffered
  for (int index = 0; index < 1000; ++index) {
    output->write(piece);
  }
  EXPECT_FALSE(fs::exists(path("a")));
  ASSERT_TRUE(output->finish());
  EXPECT_EQ(content(path("a")), std::string(1000000, 'x'));
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, LeavesTheOldFileWhereItIsNotFinished) {
  ASSERT_TRUE(write_whole_file(path("a"), "old"));
  {
    auto output = OutputFile::create(path("a"));
    ASSERT_TRUE(output);
    output->write("new");
  }
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(files(), 1U);
  ASSERT_TRUE(write_whole_file(path("a"), "new"));
  EXPECT_EQ(content(path("a")), "new");
}

TEST_F(OutputFileTest, SaysWhatCannotBeWritten) {
  const auto missing = OutputFile::create(path("no/such/folder"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().exit_status(), 70);
  EXPECT_NE(missing.error().message().find("No such file or directory"), std::string::npos);
  fs::create_directory(folder / "taken");
  EXPECT_FALSE(OutputFile::create(path("taken")));
}

TEST_F(OutputFileTest, SaysThatADiskIsFull) {
  auto output = OutputFile::create("/dev/full");
  ASSERT_TRUE(output);
  output->write(std::string(1000000, 'x'));
  EXPECT_TRUE(output->failed());
  const auto finished = output->finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().exit_status(), 70);
  EXPECT_NE(finished.error().message().find("No space left on device"), std::string::npos);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(OutputFileTest, FollowsALinkInsteadOfReplacingIt) {
  ASSERT_TRUE(write_whole_file(path("real"), "old"));
  fs::create_symlink("real", folder / "link");
  ASSERT_TRUE(write_whole_file(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(content(path("real")), "new");
}

TEST_F(OutputFileTest, ReplacesNothingButARegularFile) {
  fs::create_directory(folder / "taken");
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", folder / "link");
  for (const char* name : {"taken", "fifo", "link"}) {
    UnfinishedFile unfinished(path(name));
    std::ofstream(unfinished.name()) << "x";
    EXPECT_FALSE(unfinished.check_target()) << name;
    const auto published = unfinished.publish();
    ASSERT_FALSE(published) << name;
    EXPECT_EQ(published.error().exit_status(), 70);
    EXPECT_EQ(published.error().subject, path(name));
  }
  EXPECT_TRUE(fs::is_fifo(folder / "fifo"));
  EXPECT_TRUE(fs::is_directory(folder / "taken"));
  EXPECT_EQ(files(), 3U);
}

TEST_F(OutputFileTest, ErrorsNameThePathThatWasAskedFor) {
  const UnfinishedFile unfinished(path("a"));
  const Error error =
      unfinished.named({ErrorKind::internal, "disk I/O error", unfinished.name() + "-wal", "see " + unfinished.name()});
  EXPECT_EQ(error.subject, path("a") + "-wal");
  EXPECT_EQ(error.advice, "see " + path("a"));
}

TEST_F(OutputFileTest, RemovesWhatSqliteLeftBesideAnUnfinishedFile) {
  {
    const UnfinishedFile unfinished(path("a"));
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      std::ofstream(unfinished.name() + suffix) << "x";
    }
    EXPECT_EQ(files(), 4U);
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(OutputFileTest, GivesTheFileTheRightsThatTheUmaskLeaves) {
  const mode_t before = ::umask(027);
  const auto written = write_whole_file(path("a"), "x");
  ::umask(before);
  ASSERT_TRUE(written);
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
}

}  // namespace
}  // namespace kvet
