// Buffers from many threads at once, and CUPTI's callbacks when there is no memory left.
#include "inject/collector.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "inject/clock.h"

namespace kvet::inject {
namespace {

std::atomic<uint64_t> planted_drops{0};

// CUPTI's side: every record of these tests is an API record.
kvet_cupti_result next_record(uint8_t* buffer, size_t valid, kvet_cupti_activity** record) {
  uint8_t* at = *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + sizeof(kvet_cupti_api);
  if (at + sizeof(kvet_cupti_api) > buffer + valid) {
    return KVET_CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  *record = reinterpret_cast<kvet_cupti_activity*>(at);
  return KVET_CUPTI_SUCCESS;
}
kvet_cupti_result dropped_records(kvet_cuda_context_t, uint32_t, size_t* dropped) {
  *dropped = planted_drops.exchange(0);
  return KVET_CUPTI_SUCCESS;
}

class CollectorTest : public testing::Test {
 protected:
  void SetUp() override {
    cupti_.get_next_record = next_record;
    cupti_.get_num_dropped_records = dropped_records;
    collector_ = std::make_unique<Collector>();
    collector_->cupti = &cupti_;
    collector_->owner = getpid();
    int error = 0;
    ASSERT_TRUE(collector_->table.create(&error));
  }
  // As CUPTI does: asks for a buffer, fills it with `count` records, gives it back.
  void deliver(uint32_t count) {
    uint8_t* buffer = nullptr;
    size_t size = 0, most = 7;
    collector_->buffer_requested(&buffer, &size, &most);
    ASSERT_NE(buffer, nullptr);
    ASSERT_EQ(most, 0u);
    ASSERT_LE(count * sizeof(kvet_cupti_api), size);
    auto* records = reinterpret_cast<kvet_cupti_api*>(buffer);
    for (uint32_t i = 0; i < count; ++i) {
      records[i] = kvet_cupti_api{};
      records[i].kind = KVET_CUPTI_ACTIVITY_DRIVER;
      records[i].callback_id = 307;
      records[i].start = 10;
      records[i].end = 20;
    }
    collector_->buffer_completed(buffer, count * sizeof(kvet_cupti_api));
  }
  uint64_t lost(kvet_loss_kind kind) {
    kvet_record record;
    return collector_->losses.take(kind, record) ? record.loss.count : 0;
  }
  Cupti cupti_;
  std::unique_ptr<Collector> collector_;
};

TEST_F(CollectorTest, ManyThreadsLoseNothing) {
  // Nobody reads, so each record that was unpacked is counted as such: the count says how many were seen, once each.
  constexpr int threads = 8, rounds = 2'000;
  // Room for all of them: the collecting thread may lose its CPU for as long as it takes the others to bring theirs.
  ASSERT_TRUE(collector_->buffers.create(16 << 10, size_t{threads} * rounds * (16 << 10)));
  std::vector<std::thread> all;
  all.reserve(threads);
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&] {
      for (uint32_t round = 0; round < rounds; ++round) {
        deliver(round % 5);
      }
    });
  }
  for (std::thread& thread : all) {
    thread.join();
  }
  ASSERT_TRUE(collector_->finish());
  EXPECT_EQ(lost(KVET_LOSS_NO_READER), uint64_t{threads} * rounds * 2);  // mean of 0, 1, 2, 3, 4
  EXPECT_EQ(lost(KVET_LOSS_BUFFER_ALLOCATION), 0u);
  EXPECT_EQ(collector_->completed_buffers(), uint64_t{threads} * rounds);
  EXPECT_EQ(collector_->table.header()->finished, 1u);
}

TEST_F(CollectorTest, WithoutABufferLeftThereStillIsOneAndItsRecordsAreALoss) {
  ASSERT_TRUE(collector_->buffers.create(16 << 10, 64 << 10));  // four
  std::set<uint8_t*> out;
  size_t size = 0, most = 0;
  for (int i = 0; i < 4; ++i) {
    uint8_t* buffer = nullptr;
    collector_->buffer_requested(&buffer, &size, &most);
    out.insert(buffer);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % 64, 0u);
  }
  EXPECT_EQ(out.size(), 4u);
  uint8_t* last_resort = nullptr;
  collector_->buffer_requested(&last_resort, &size, &most);
  ASSERT_NE(last_resort, nullptr);
  EXPECT_EQ(out.count(last_resort), 0u);
  EXPECT_GE(size, 4096u);
  collector_->buffer_completed(last_resort, sizeof(kvet_cupti_api));
  EXPECT_EQ(lost(KVET_LOSS_NO_READER), 0u) << "garbage is not read";
  EXPECT_EQ(lost(KVET_LOSS_BUFFER_ALLOCATION), 1u);
  collector_->buffer_completed(*out.begin(), 0);
  uint8_t* again = nullptr;
  collector_->buffer_requested(&again, &size, &most);
  EXPECT_EQ(again, *out.begin()) << "the one that came back is used again";
}

TEST_F(CollectorTest, CuptisOwnDropsAreCounted) {
  ASSERT_TRUE(collector_->buffers.create(16 << 10, 1 << 20));
  planted_drops = 17;
  deliver(1);
  EXPECT_EQ(lost(KVET_LOSS_CUPTI_DROPPED), 17u);
}

TEST_F(CollectorTest, DiscardReadsNothing) {
  ASSERT_TRUE(collector_->buffers.create(16 << 10, 1 << 20));
  collector_->discard = true;
  deliver(100);
  ASSERT_TRUE(collector_->finish());
  EXPECT_EQ(lost(KVET_LOSS_NO_READER), 0u);
}

TEST_F(CollectorTest, AForkedChildRecyclesBuffersAndTouchesNothingElse) {
  ASSERT_TRUE(collector_->buffers.create(16 << 10, 64 << 10));  // four: they have to come back
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100; ++i) {
      deliver(5);  // the table is not mapped here: touching it would end the child by a signal
    }
    _exit(lost(KVET_LOSS_BUFFER_ALLOCATION) == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(lost(KVET_LOSS_NO_READER), 0u);
}

TEST(BufferPool, TakesFilledBuffersOldestFirst) {
  auto pool = std::make_unique<BufferPool>();
  ASSERT_TRUE(pool->create(16 << 10, 1 << 20));
  size_t size = 0;
  std::vector<uint8_t*> order;
  order.reserve(3);
  for (int i = 0; i < 3; ++i) {
    order.push_back(pool->request(&size));
  }
  for (uint8_t* buffer : order) {
    pool->completed(buffer, 1);
  }
  BufferPool::Buffer* buffer = pool->take_completed();
  for (uint8_t* expected : order) {
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(buffer->content(), expected);
    buffer = buffer->queued;
  }
  EXPECT_EQ(buffer, nullptr);
  EXPECT_FALSE(pool->has_completed());
}

}  // namespace
}  // namespace kvet::inject
