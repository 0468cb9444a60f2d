// The round trip through the kernel: a program sends batches at its probe, the BPF program copies them, and what arrives
// is what was sent. Needs the right to load BPF programs; says so and skips where there is none.
#include "probes/activity/probe.h"

#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "probes/activity/decode.h"
#include "probes/activity/test_sink.h"

namespace kvet::probes {
namespace {

constexpr const char* sender_path = KVET_BINARY_DIR "/src/inject/batch_sender";

// The sending program, with a pipe to each end. It ends when its standard input does.
class Sender {
 public:
  // `targets`: it adds itself before it sends anything.
  explicit Sender(int batches, TargetMap* targets = nullptr) {
    int in[2], out[2];
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (const int descriptor : {in[0], in[1], out[0], out[1]}) {
        close(descriptor);
      }
      if (targets != nullptr && !targets->add(getpid())) {
        _exit(126);
      }
      execl(sender_path, sender_path, std::to_string(batches).c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = fdopen(out[0], "r");
  }
  ~Sender() { end(); }
  // Waits until it has sent everything: how many records that was.
  unsigned records() {
    int pid = 0;
    unsigned count = 0;
    EXPECT_EQ(fscanf(output_, "%d %u", &pid, &count), 2);
    EXPECT_EQ(pid, pid_);
    return count;
  }
  void end() {
    if (pid_ > 0) {
      close(input_);
      fclose(output_);
      waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }
  [[nodiscard]] int pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  FILE* output_ = nullptr;
};

class RoundTrip : public testing::TestWithParam<bool> {
 protected:
  void load(uint32_t ring_bytes, const TargetMap* targets = nullptr) {
    libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
    auto probe = ActivityProbe::load({.ring_bytes = ring_bytes, .sleepable = GetParam(), .targets = targets});
    if (!probe) {
      GTEST_SKIP() << "no BPF here: " << probe.error().message();
    }
    probe_ = std::make_unique<ActivityProbe>(std::move(*probe));
    if (probe_->sleepable() != GetParam()) {
      GTEST_SKIP() << "this kernel does not take the sleepable program";
    }
    const auto attached = probe_->attach(sender_path);
    ASSERT_TRUE(attached.has_value()) << attached.error().message();
    attachment_ = *attached;
    ring_ = ring_buffer__new(
        probe_->ring_descriptor(),
        [](void* self, void* data, size_t size) {
          static_cast<RoundTrip*>(self)->take({static_cast<std::byte*>(data), size});
          return 0;
        },
        this, nullptr);
    ASSERT_NE(ring_, nullptr);
  }
  void TearDown() override { ring_buffer__free(ring_); }
  void take(std::span<const std::byte> event) {
    const auto& header = *reinterpret_cast<const kvet_event_header*>(event.data());
    EXPECT_EQ(header.size, event.size());
    EXPECT_EQ(header.kind, static_cast<uint32_t>(KVET_EVENT_BATCH));
    EXPECT_EQ(header.process_id, static_cast<uint32_t>(expected_pid_));
    decoder_.decode_event(ProcessId{0}, event);
  }
  void drain() { ring_buffer__consume(ring_); }

  std::unique_ptr<ActivityProbe> probe_;
  int attachment_ = 0;
  int expected_pid_ = 0;
  ring_buffer* ring_ = nullptr;
  TestSink sink_;
  DeviceDirectory devices_;
  ActivityDecoder decoder_{sink_, devices_, {.translate_thread = {}, .open_table = [this](ProcessId) {
                                               return Table::open(expected_pid_);
                                             }}};
};

TEST_P(RoundTrip, EverythingThatWasSentArrivesAsItWas) {
  load(32 << 20);
  if (IsSkipped()) {
    return;
  }
  constexpr int batches = 600;
  Sender sender(batches);
  expected_pid_ = sender.pid();
  const unsigned sent = sender.records();
  drain();
  ASSERT_EQ(sink_.ranges.size(), sent);
  size_t at = 0;
  for (int batch = 0; batch < batches; ++batch) {
    for (int i = 0; i < 1 + batch * 37 % 256; ++i, ++at) {
      const Range& range = sink_.ranges[at];
      ASSERT_EQ(range.start_ns, static_cast<int64_t>(at + 1));
      ASSERT_EQ(range.end_ns, static_cast<int64_t>(at + 1001));
      ASSERT_EQ(range.thread_id, sender.pid());
      ASSERT_EQ(sink_.strings[range.name.value], "batch " + std::to_string(batch));
    }
  }
  EXPECT_TRUE(decoder_.totals(ProcessId{0}).said_goodbye);
  decoder_.finish_all();
  EXPECT_TRUE(sink_.losses.empty());
  const auto counters = probe_->counters();
  EXPECT_EQ(counters[KVET_COUNTER_EVENTS], static_cast<uint64_t>(batches));
  EXPECT_EQ(counters[KVET_COUNTER_BATCH_RESERVE_FAILED], 0u);
  EXPECT_EQ(counters[KVET_COUNTER_BATCH_COPY_FAILED], 1u) << "the one that the sender offers at an address of nothing";
  EXPECT_EQ(probe_->missed_recursions(), 0u);
}

TEST_P(RoundTrip, WhatAFullRingLosesIsCountedToTheRecordTheTailIncluded) {
  load(64 << 10);  // three large batches
  if (IsSkipped()) {
    return;
  }
  Sender sender(200);
  expected_pid_ = sender.pid();
  auto table = Table::open(sender.pid());
  const unsigned sent = sender.records();
  if (!table) {
    table = Table::open(sender.pid());
  }
  ASSERT_TRUE(table.has_value()) << table.error().message();
  decoder_.set_table(ProcessId{0}, std::move(*table));
  sender.end();  // the table is read after the process has gone
  drain();
  decoder_.finish_all();
  const uint64_t lost = sink_.lost(LossKind::batch_gap);
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(sink_.ranges.size() + lost, sent);
  const auto counters = probe_->counters();
  EXPECT_EQ(counters[KVET_COUNTER_EVENTS] + counters[KVET_COUNTER_BATCH_RESERVE_FAILED] +
                counters[KVET_COUNTER_BATCH_COPY_FAILED],
            201u);
}

TEST_P(RoundTrip, WhoIsNotRecordedCannotSendAnything) {
  auto targets = TargetMap::create();
  if (!targets) {
    GTEST_SKIP() << "no BPF here: " << targets.error().message();
  }
  load(1 << 20, &*targets);
  if (IsSkipped()) {
    return;
  }
  Sender stranger(5);
  EXPECT_GT(stranger.records(), 0u);
  drain();
  EXPECT_TRUE(sink_.ranges.empty());
  EXPECT_EQ(probe_->counters()[KVET_COUNTER_EVENTS], 0u);
  Sender sender(5, &*targets);
  expected_pid_ = sender.pid();
  const unsigned sent = sender.records();
  drain();
  EXPECT_EQ(sink_.ranges.size(), sent);
}

TEST_P(RoundTrip, DetachedMeansNothingIsSentAnyMore) {
  load(1 << 20);
  if (IsSkipped()) {
    return;
  }
  {
    Sender first(3);
    expected_pid_ = first.pid();
    first.records();
  }
  drain();
  EXPECT_EQ(decoder_.totals(ProcessId{0}).batches, 3u);
  probe_->detach(attachment_);
  const auto before = probe_->counters();
  // It would wait ten seconds for a reader; it is ended at once.
  Sender second(3);
  kill(second.pid(), SIGKILL);
  drain();
  EXPECT_EQ(probe_->counters(), before);
}

INSTANTIATE_TEST_SUITE_P(Copy, RoundTrip, testing::Bool(),
                         [](const auto& one) { return one.param ? "sleepable" : "plain"; });

}  // namespace
}  // namespace kvet::probes
