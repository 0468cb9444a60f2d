// Batches of the memory file that say what no injected library says.
#include "record/memory_processes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "model/event_sink.h"
#include "probes/activity/test_sink.h"

namespace kvet::record {
namespace {

class MemoryProcessesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ring = probes::MemoryRing::create(4, 8);
    ASSERT_TRUE(ring.has_value());
    ring_ = std::make_unique<probes::MemoryRing>(std::move(*ring));
    known_ = std::make_unique<MemoryProcesses>(*ring_, directory_);
    ASSERT_EQ(pread(ring_->descriptor(), &file_, sizeof(file_), 0), static_cast<ssize_t>(sizeof(file_)));
  }
  // A table that claims to be of this process; the header that a batch of it would have.
  kvet_batch_header table(uint32_t number, uint32_t pid) {
    kvet_batch_header header{};
    header.target_pid = pid;
    header.table_address = file_.tables_offset + uint64_t{number} * KVET_TABLE_BYTES;
    kvet_table content{};
    content.magic = KVET_TABLE_MAGIC;
    content.abi_version = KVET_ABI_VERSION;
    content.target_pid = pid;
    EXPECT_EQ(pwrite(ring_->descriptor(), &content, sizeof(content), static_cast<off_t>(header.table_address)),
              static_cast<ssize_t>(sizeof(content)));
    return header;
  }
  auto sender(const kvet_batch_header& header) { return known_->sender(header, 1000, 10); }

  probes::TestSink sink_;
  probes::ProcessDirectory directory_{sink_};
  std::unique_ptr<probes::MemoryRing> ring_;
  std::unique_ptr<MemoryProcesses> known_;
  kvet_memory_header file_{};
};

TEST_F(MemoryProcessesTest, ForgedProcessIdsMakeNoMoreProcessesThanThereAreTables) {
  kvet_batch_header header = table(0, 1234);
  for (uint32_t pid = 1; pid < 10'000; ++pid) {
    header.target_pid = pid;
    ASSERT_TRUE(sender(header).has_value());
  }
  EXPECT_EQ(directory_.processes().size(), 1u);
}

TEST_F(MemoryProcessesTest, ABatchWithoutATableOfTheFileIsRefused) {
  kvet_batch_header header = table(0, 1234);
  for (const uint64_t address : {uint64_t{0}, header.table_address + 64, header.table_address + KVET_TABLE_BYTES,
                                 header.table_address + 8 * uint64_t{KVET_TABLE_BYTES}, ~uint64_t{0}}) {
    header.table_address = address;
    EXPECT_FALSE(sender(header).has_value()) << address;
  }
  EXPECT_TRUE(directory_.processes().empty());
}

TEST_F(MemoryProcessesTest, TheNameOfAProcessThatDoesNotHaveTheFileIsNotTaken) {
  auto found = sender(table(0, 1));  // init has nothing to do with this
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(sink_.strings.at(directory_.process(found->process).name.value), "");
  EXPECT_TRUE(known_->ended().empty());
}

TEST_F(MemoryProcessesTest, AnotherProgramInTheSameProcessIsAnotherProcessOfTheCapture) {
  const auto pid = static_cast<uint32_t>(getpid());  // which has the file mapped
  auto first = sender(table(0, pid));
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->table.has_value());
  EXPECT_FALSE(sender(table(0, pid))->table.has_value()) << "once";
  auto second = sender(table(1, pid));
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(second->table.has_value()) << "the new program's names";
  EXPECT_NE(second->process, first->process);
  EXPECT_EQ(second->before_exec, first->process);
}

TEST_F(MemoryProcessesTest, AProcessThatHasEndedIsNoticed) {
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();  // inherits the recorder's mapping
  if (child == 0) {
    close(go[1]);
    char byte = 0;
    _exit(read(go[0], &byte, 1) == 0 ? 0 : 1);
  }
  close(go[0]);
  auto found = sender(table(0, static_cast<uint32_t>(child)));
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(known_->ended().empty());
  close(go[1]);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(known_->ended(), std::vector{found->process});
}

}  // namespace
}  // namespace kvet::record
