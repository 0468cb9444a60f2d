#include "base/unfinished_names.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/output_file.h"

namespace kvet {
namespace {

namespace fs = std::filesystem;

class UnfinishedNames : public testing::Test {
 protected:
  UnfinishedNames() {
    std::string pattern = testing::TempDir() + "kvet_names_XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~UnfinishedNames() override { fs::remove_all(folder); }
  // The status with which a process ends that does this and then gets the signal.
  template <class Work>
  static int status_of(int signal, Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
      remove_unfinished_on_signals();
      work();
      ::raise(signal);
      ::_exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] auto files() const { return std::distance(fs::directory_iterator(folder), fs::directory_iterator{}); }
  fs::path folder;
};

TEST_F(UnfinishedNames, ASignalRemovesFilesWithTheirSideFilesAndKeepsWhatWasPublished) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = status_of(signal, [&] {
      UnfinishedFile done(folder / "done");
      std::ofstream(done.name()) << "x";
      if (!done.publish()) {
        ::_exit(1);
      }
      auto* const open = new UnfinishedFile(folder / "open");  // never destroyed, as where a signal interrupts
      for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
        std::ofstream(open->name() + suffix) << "x";
      }
    });
    EXPECT_EQ(status, 75);
    EXPECT_TRUE(fs::exists(folder / "done"));
    EXPECT_EQ(files(), 1);
  }
}

TEST_F(UnfinishedNames, ASignalRemovesAFolderOfManyFiles) {
  const int status = status_of(SIGINT, [&] {
    const std::string name = folder / "tables.unfinished1";
    fs::create_directory(name);
    remember_unfinished(name);
    for (int index = 0; index < 2000; ++index) {  // more than one system call lists
      std::ofstream(name + "/a_long_name_of_a_table_" + std::to_string(index)) << "x";
    }
  });
  EXPECT_EQ(status, 75);
  EXPECT_EQ(files(), 0);
}

TEST_F(UnfinishedNames, ASignalThatIsIgnoredStaysIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);  // as under nohup
  EXPECT_EQ(status_of(SIGHUP, [] {}), 0);
  std::signal(SIGHUP, before);
}

TEST_F(UnfinishedNames, AFileThatBecomesTooLargeIsAnErrorAndNoSignal) {
  const int status = status_of(SIGINT, [&] {
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto written = write_whole_file(folder / "large", std::string(100'000, 'x'));
    ::_exit(written ? 0 : written.error().exit_status());
  });
  EXPECT_EQ(status, 70);
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace kvet
