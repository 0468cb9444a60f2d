// The writer when things go wrong: killed, disk full, a file in the way.
#include "store/writer.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "store/reader.h"
#include "store/test_support.h"

namespace kvet::store {
namespace {

void define(CaptureWriter& sink) {
  sink.on(Process{});
  sink.on(Device{});
  sink.on(KernelShape{});
}

// Execution number i lies at [10·i, 10·i + 5).
void write_executions(CaptureWriter& sink, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; ++i) {
    Execution execution;
    execution.start_ns = 10 * i;
    execution.end_ns = 10 * i + 5;
    sink.on(execution);
  }
}

void expect_prefix(const Capture& capture, int64_t at_least, int64_t at_most) {
  const auto count = static_cast<int64_t>(capture.executions.size());
  EXPECT_GE(count, at_least);
  EXPECT_LE(count, at_most);
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(capture.executions[static_cast<size_t>(i)].start_ns, 10 * i);
    ASSERT_EQ(capture.executions[static_cast<size_t>(i)].end_ns, 10 * i + 5);
  }
}

// Runs work(report) in a child process; report(n) sends a number to the parent.
struct Child {
  pid_t pid = -1;
  int from_child = -1;
};
template <class Work>
Child in_child(Work work) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  Child child;
  child.pid = ::fork();
  if (child.pid == 0) {
    ::close(ends[0]);
    work([&](int64_t number) {
      return ::write(ends[1], &number, sizeof number) == static_cast<ssize_t>(sizeof number);
    });
    ::_exit(0);
  }
  ::close(ends[1]);
  child.from_child = ends[0];
  return child;
}

// Whatever was committed is there after a kill at any moment, and nothing that is half there. Commits of 2000 rows stand for
// the seconds of a real recording.
TEST(Writer, KilledInTheMiddle) {
  for (int round = 0; round < 6; ++round) {
    const std::string path = fresh_path("killed" + std::to_string(round) + ".kvet");
    const Child child = in_child([&](auto report) {
      auto writer = CaptureWriter::create(path);
      if (!writer) {
        ::_exit(1);
      }
      define(**writer);
      for (int64_t row = 0;; row += 2000) {
        write_executions(**writer, row, row + 2000);
        if (!(*writer)->commit() || !report(row + 2000)) {
          ::_exit(2);
        }
      }
    });
    int64_t committed = 0;
    // A different number of commits each round, then a moment that lies anywhere in the next.
    for (int i = 0; i < 3 + 7 * round; ++i) {
      ASSERT_EQ(::read(child.from_child, &committed, sizeof committed), static_cast<ssize_t>(sizeof committed));
    }
    ::usleep(static_cast<useconds_t>(1 + 613 * round));
    ASSERT_EQ(::kill(child.pid, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child.pid, nullptr, 0), child.pid);
    int64_t last = 0;
    while (::read(child.from_child, &last, sizeof last) == static_cast<ssize_t>(sizeof last)) {
      committed = last;
    }
    ::close(child.from_child);

    auto capture = read_capture(path);
    ASSERT_TRUE(capture) << capture.error().message();
    EXPECT_FALSE(capture->complete);
    expect_prefix(*capture, committed, committed + 2000);  // the commit under way may be in it
    EXPECT_EQ(capture->executions.size() % 2000, 0u);
    // Reading changed nothing: it reads the same again.
    auto again = read_capture(path);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->executions.size(), capture->executions.size());
  }
}

TEST(Writer, KilledBeforeItsFirstCommit) {
  const std::string path = fresh_path("early.kvet");
  const Child child = in_child([&](auto report) {
    auto writer = CaptureWriter::create(path);
    define(**writer);
    report(writer ? 1 : 0);
    ::pause();
  });
  int64_t made = 0;
  ASSERT_EQ(::read(child.from_child, &made, sizeof made), static_cast<ssize_t>(sizeof made));
  ::kill(child.pid, SIGKILL);
  ::waitpid(child.pid, nullptr, 0);
  ::close(child.from_child);
  ASSERT_EQ(made, 1);
  auto capture = read_capture(path);
  ASSERT_TRUE(capture) << capture.error().message();
  EXPECT_FALSE(capture->complete);
  EXPECT_TRUE(capture->processes.empty());
  EXPECT_EQ(capture->strings.size(), 1u);
}

// Writes 4000 rows a commit until the writer reports an error; exit status 0 where everything behaved.
void fill_up(const std::string& path, auto report) {
  auto writer = CaptureWriter::create(path);
  if (!writer) {
    ::_exit(1);
  }
  define(**writer);
  int64_t committed = 0;
  for (int64_t row = 0; row < 4'000'000; row += 4000) {
    write_executions(**writer, row, row + 4000);
    if (!(*writer)->commit()) {
      break;
    }
    committed = row + 4000;
  }
  const Error* error = (*writer)->first_error();
  if (error == nullptr) {
    ::_exit(2);
  }
  const uint64_t dropped = (*writer)->dropped_rows();
  write_executions(**writer, 0, 100);  // goes on without harm
  if ((*writer)->dropped_rows() != dropped + 100) {
    ::_exit(3);
  }
  if ((*writer)->finish()) {  // must not claim to be complete
    ::_exit(4);
  }
  if (error->kind != ErrorKind::internal || error->message().find(path) == std::string::npos) {
    ::_exit(5);
  }
  report(committed);
}

TEST(Writer, FileSizeLimitIsAnErrorAndNothingElse) {
  const std::string path = fresh_path("limited.kvet");
  const Child child = in_child([&](auto report) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{3 << 20, 3 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    fill_up(path, report);
  });
  int64_t committed = -1;
  EXPECT_EQ(::read(child.from_child, &committed, sizeof committed), static_cast<ssize_t>(sizeof committed));
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  ::close(child.from_child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);
  auto capture = read_capture(path);
  ASSERT_TRUE(capture) << capture.error().message();
  EXPECT_FALSE(capture->complete);
  EXPECT_GT(committed, 0);
  expect_prefix(*capture, committed, committed);
}

TEST(Writer, FullDiskIsAnErrorAndNothingElse) {
  const std::string folder = testing::TempDir() + std::to_string(::getpid()) + "_small_disk";
  ASSERT_EQ(::mkdir(folder.c_str(), 0755), 0);
  const std::string path = folder + "/full.kvet";
  const Child child = in_child([&](auto report) {
    // A mount name space of its own, so that the small disk goes away with the child.
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.c_str(), "tmpfs", 0, "size=3m") != 0) {
      ::_exit(77);
    }
    int64_t committed = -1;
    fill_up(path, [&](int64_t number) { committed = number; });
    auto capture = read_capture(path);
    if (!capture || capture->complete || committed <= 0 ||
        static_cast<int64_t>(capture->executions.size()) != committed) {
      ::_exit(6);
    }
    report(committed);
  });
  int64_t committed = -1;
  [[maybe_unused]] const ssize_t got = ::read(child.from_child, &committed, sizeof committed);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  ::close(child.from_child);
  ::rmdir(folder.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "cannot mount a small disk here";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_GT(committed, 0);
}

TEST(Writer, ReplacesOnlyCapturesAndEmptyFiles) {
  const std::string path = fresh_path("replace.kvet");
  write_bytes(path, "my thesis");
  auto refused = CaptureWriter::create(path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(read_bytes(path), "my thesis");

  write_bytes(path, "");
  {
    auto first = CaptureWriter::create(path);
    ASSERT_TRUE(first) << first.error().message();
    (*first)->on(Meta{"tier", "host"});
    ASSERT_TRUE((*first)->finish());
  }
  {
    auto second = CaptureWriter::create(path);
    ASSERT_TRUE(second) << second.error().message();
    ASSERT_TRUE((*second)->finish());
  }
  auto capture = read_capture(path);
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->fact("tier"), "");

  auto nowhere = CaptureWriter::create(testing::TempDir() + "no/such/folder/x.kvet");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::internal);
}

TEST(Writer, ACaptureThatIsBeingRecordedIsNotReplaced) {
  const std::string path = fresh_path("busy.kvet");
  const Child child = in_child([&](auto report) {
    auto writer = CaptureWriter::create(path);
    define(**writer);
    const bool good = writer && (*writer)->commit();
    report(good ? 1 : 0);
    ::pause();
  });
  int64_t good = 0;
  ASSERT_EQ(::read(child.from_child, &good, sizeof good), static_cast<ssize_t>(sizeof good));
  EXPECT_EQ(good, 1);
  auto refused = CaptureWriter::create(path);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("recording into this file"), std::string::npos);
  ::kill(child.pid, SIGKILL);
  ::waitpid(child.pid, nullptr, 0);
  ::close(child.from_child);
  auto writer = CaptureWriter::create(path);  // the other is gone
  EXPECT_TRUE(writer);
}

}  // namespace
}  // namespace kvet::store
