#include "record/process_facts.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "record/thread_translator.h"

namespace kvet::record {
namespace {

TEST(ProcessFacts, TheInnermostIdIsTheLast) {
  EXPECT_EQ(innermost_id("Name:\tx\nNSpid:\t4711\t12\t1\nVmPeak:\t1\n"), 1);
  EXPECT_EQ(innermost_id("NSpid:\t4711\n"), 4711);
  EXPECT_FALSE(innermost_id("Name:\tx\n"));
  EXPECT_FALSE(innermost_id("NSpid:\tx\n"));
  EXPECT_FALSE(innermost_id(""));
}

TEST(ProcessFacts, ACommandLineCanBeTakenBackByAShell) {
  EXPECT_EQ(join_command({"python", "serve.py", "--port", "80"}), "python serve.py --port 80");
  EXPECT_EQ(join_command({"sh", "-c", "echo it's $HOME"}), "sh -c 'echo it'\\''s $HOME'");
  EXPECT_EQ(join_command({"a", ""}), "a ''");
  EXPECT_EQ(join_command({std::string(100'000, 'x')}).size(), 4096U);
}

TEST(ProcessFacts, OfThisProcess) {
  EXPECT_EQ(thread_group(getpid()), getpid());
  EXPECT_FALSE(process_name(getpid()).empty());
  EXPECT_NE(command_line(getpid()).find("record_test"), std::string::npos);
  EXPECT_FALSE(thread_group(0x7ffffff));
  EXPECT_EQ(process_name(0x7ffffff), "");
  std::thread([] { EXPECT_EQ(thread_group(gettid()), getpid()); }).join();
}

TEST(ProcessFacts, TheTreeHasAllDescendants) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      pause();
    }
    [[maybe_unused]] const ssize_t written = write(ready[1], &grandchild, sizeof grandchild);
    pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ready[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  const auto tree = process_tree(getpid());
  EXPECT_EQ(tree.front(), getpid());
  EXPECT_TRUE(std::ranges::find(tree, child) != tree.end());
  EXPECT_TRUE(std::ranges::find(tree, grandchild) != tree.end());
  kill(grandchild, SIGKILL);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(ThreadTranslator, OutsideAContainerIdsAreTheSame) {
  ThreadTranslator threads([](int32_t) -> std::unordered_map<int32_t, int32_t> {
    ADD_FAILURE() << "nothing is to be looked up";
    return {};
  });
  threads.set_process(ProcessId{0}, 100, 100);
  EXPECT_EQ(threads.translate(ProcessId{0}, 105), 105);
  EXPECT_EQ(threads.translate(ProcessId{9}, 7), 7);  // never heard of
}

TEST(ThreadTranslator, InsideAContainerThreadsAreLookedUpOnce) {
  int looked = 0;
  ThreadTranslator threads([&](int32_t pid) -> std::unordered_map<int32_t, int32_t> {
    EXPECT_EQ(pid, 100);
    ++looked;
    return {{1, 100}, {2, 101}, {3, 102}};
  });
  threads.set_process(ProcessId{0}, 100, 1);
  EXPECT_EQ(threads.translate(ProcessId{0}, 1), 100);
  EXPECT_EQ(looked, 0);  // the first thread has the process's id
  EXPECT_EQ(threads.translate(ProcessId{0}, 3), 102);
  EXPECT_EQ(threads.translate(ProcessId{0}, 2), 101);
  EXPECT_EQ(looked, 1);
  EXPECT_EQ(threads.translate(ProcessId{0}, 4), 0);  // ended before anybody looked
}

// Against the kernel's own two views of a process in a pid namespace.
TEST(ThreadTranslator, ARealPidNamespace) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root for a pid namespace";
  }
  int told[2], end[2];
  ASSERT_EQ(pipe(told), 0);
  ASSERT_EQ(pipe(end), 0);
  const pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWPID) != 0) {
      _exit(1);
    }
    const pid_t inner = fork();
    if (inner == 0) {
      std::thread([&] {
        const pid_t inside = gettid();
        [[maybe_unused]] const ssize_t written = write(told[1], &inside, sizeof inside);
        char byte = 0;
        [[maybe_unused]] const ssize_t got = read(end[0], &byte, 1);
      }).join();
      _exit(0);
    }
    [[maybe_unused]] const ssize_t written = write(told[1], &inner, sizeof inner);
    waitpid(inner, nullptr, 0);
    _exit(0);
  }
  pid_t first = 0, second = 0;
  ASSERT_EQ(read(told[0], &first, sizeof first), static_cast<ssize_t>(sizeof first));
  ASSERT_EQ(read(told[0], &second, sizeof second), static_cast<ssize_t>(sizeof second));
  // The namespace's first process has the id 1 there and its first thread 2; the other number is its id here.
  const pid_t pid = std::max(first, second), thread_inside = std::min(first, second);
  EXPECT_EQ(thread_inside, 2);
  EXPECT_EQ(namespace_pid(pid), 1);
  ThreadTranslator threads;
  threads.set_process(ProcessId{0}, pid, 1);
  const int32_t thread = threads.translate(ProcessId{0}, thread_inside);
  EXPECT_EQ(thread_group(thread), pid);
  EXPECT_NE(thread, pid);
  close(end[1]);
  close(end[0]);
  kill(pid, SIGKILL);
  waitpid(outer, nullptr, 0);
  close(told[0]);
  close(told[1]);
}

}  // namespace
}  // namespace kvet::record
