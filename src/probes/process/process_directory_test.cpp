#include "probes/process/process_directory.h"

#include <gtest/gtest.h>

#include "probes/kernel/kept_events.h"

namespace kvet::probes {
namespace {

class Directory : public testing::Test {
 protected:
  KeptEvents sink_;
  ProcessDirectory processes_{sink_};
};

TEST_F(Directory, AReusedPidIsAnotherProcess) {
  const ProcessId first = processes_.begin({.pid = 10, .name = "first", .start_ns = 100});
  processes_.end(10, 200, 0);
  const ProcessId second = processes_.begin({.pid = 10, .name = "second", .start_ns = 300});
  EXPECT_NE(first, second);
  EXPECT_EQ(processes_.at(10, 150), first);
  EXPECT_EQ(processes_.at(10, 250), first);  // its last events come a little after its exit
  EXPECT_EQ(processes_.at(10, 300), second);
  EXPECT_EQ(processes_.at(10, 50), first);  // and its first a little before its birth was told
  EXPECT_EQ(sink_.processes[first.value].end_ns, 200);
  EXPECT_EQ(sink_.text(sink_.processes[second.value].name), "second");
}

TEST_F(Directory, ALostExitEndsWithTheNextBirth) {
  const ProcessId first = processes_.begin({.pid = 10, .start_ns = 100});
  const ProcessId second = processes_.begin({.pid = 10, .start_ns = 300});
  EXPECT_NE(first, second);
  EXPECT_EQ(sink_.processes[first.value].end_ns, 300);
  EXPECT_FALSE(sink_.processes[first.value].exit_code);
}

TEST_F(Directory, AnEventBeforeTheBirthWasToldBelongsToIt) {
  const ProcessId early = processes_.at(10, 500);
  const ProcessId told = processes_.begin({.pid = 10, .parent_pid = 9, .name = "child", .start_ns = 400});
  EXPECT_EQ(early, told);
  const Process& process = sink_.processes[told.value];
  EXPECT_EQ(process.start_ns, 400);
  EXPECT_EQ(process.parent_pid, 9);
  EXPECT_EQ(sink_.text(process.name), "child");
}

TEST_F(Directory, ExecRenamesUnlessItIsToBeginAnew) {
  const ProcessId shell = processes_.begin({.pid = 10, .parent_pid = 1, .name = "sh", .start_ns = 100});
  EXPECT_EQ(processes_.exec(10, 200, "python", "python x.py", false), shell);
  EXPECT_EQ(sink_.text(sink_.processes[shell.value].name), "python");
  EXPECT_EQ(sink_.text(sink_.processes[shell.value].command_line), "python x.py");

  const ProcessId other = processes_.exec(10, 300, "server", "server", true);
  EXPECT_NE(other, shell);
  EXPECT_EQ(processes_.at(10, 250), shell);
  EXPECT_EQ(processes_.at(10, 350), other);
  EXPECT_EQ(sink_.processes[other.value].parent_pid, 1);
}

TEST_F(Directory, AForkedChildHasItsParentsCommandLine) {
  processes_.begin({.pid = 10, .name = "sh", .command_line = "sh run.sh", .start_ns = 100});
  const ProcessId child = processes_.begin({.pid = 11, .parent_pid = 10, .name = "sh", .start_ns = 200});
  EXPECT_EQ(sink_.text(sink_.processes[child.value].command_line), "sh run.sh");
}

TEST_F(Directory, ExitStatusIsKeptAsWaitGivesIt) {
  const ProcessId process = processes_.begin({.pid = 10, .start_ns = 100});
  processes_.end(10, 200, 9);  // killed by SIGKILL
  EXPECT_EQ(sink_.processes[process.value].exit_code, 9);
  processes_.end(10, 300, 0);  // nobody is alive under this pid any more
  EXPECT_EQ(sink_.processes[process.value].end_ns, 200);
}

}  // namespace
}  // namespace kvet::probes
