// The order of calls, the fall-backs and the loop that decodes, against hardware that does what the test says.
#include "probes/counters/pm_session.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>

#include <cstring>

#include "probes/counters/device_sampler.h"
#include "probes/counters/fake_pm_library.h"

namespace kvet::probes {
namespace {

class Session : public testing::Test {
 protected:
  Session() { fake = &hardware; }
  ~Session() override {
    EXPECT_EQ(hardware.hosts, 0) << "a host object was not freed";
    EXPECT_EQ(hardware.enabled, 0) << "sampling was left enabled";
  }
  [[nodiscard]] Result<std::unique_ptr<PmSession>> open(uint32_t samples_per_image = 16) const {
    PmOptions options;
    options.detail = true;
    options.samples_per_image = samples_per_image;
    return PmSession::open(library, 0, options);
  }
  void gather(uint64_t from, uint64_t to) {
    const std::lock_guard lock(hardware.mutex);
    for (uint64_t i = from; i < to; ++i) {
      hardware.buffer.push_back({1'000'000'000 + i * 100'000, 1'000'000'000 + (i + 1) * 100'000});
    }
  }
  FakeHardware hardware;
  PmLibrary library = fake_pm_library();
};

TEST_F(Session, SamplesByTimeWithEveryMetric) {
  auto session = open();
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ(hardware.trigger, uint32_t{KVET_PM_TRIGGER_TIME});
  EXPECT_EQ(hardware.interval, 100'000u);
  EXPECT_EQ(hardware.configured_metrics, size_t{KVET_COUNTER_FIELDS});
  EXPECT_EQ((*session)->chip(), "FK100");
}

TEST_F(Session, SamplesByClockWhereTheHardwareHasNoTimer) {
  hardware.time_trigger_result = KVET_PM_NOT_SUPPORTED;
  auto session = open();
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ(hardware.trigger, uint32_t{KVET_PM_TRIGGER_SYSTEM_CLOCK});
  EXPECT_FALSE((*session)->time_trigger());
  EXPECT_EQ(hardware.configured_metrics, size_t{KVET_COUNTER_FIELDS});
}

TEST_F(Session, GivesUpGroupsThatTheHardwareRefuses) {
  hardware.largest_config = 10;  // basic, flows and fingerprint: 5 + 3 + 2
  auto session = open();
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ(hardware.configured_metrics, 10u);
  EXPECT_EQ(missing_fields((*session)->metrics(), MetricGroup::fingerprint), "");
}

TEST_F(Session, RefusalsAreSentences) {
  hardware.enable_result = KVET_PM_INSUFFICIENT_PRIVILEGES;
  auto session = open();
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::unavailable);
  EXPECT_NE(session.error().message().find("administrators"), std::string::npos);

  hardware.enable_result = 0;
  for (const Metric& metric : known_metrics()) {
    hardware.unknown_metrics.insert(metric.name);
  }
  session = open();
  ASSERT_FALSE(session);
  EXPECT_NE(session.error().message().find("FK100"), std::string::npos) << session.error().message();
}

TEST_F(Session, DecodesInSmallImages) {
  auto session = open(16);
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->start());
  gather(0, 40);
  std::vector<uint64_t> starts;
  std::vector<double> first_values;
  const auto take = [&](const PmSample& sample) {
    starts.push_back(sample.start_ns);
    first_values.push_back(sample.values.front());
  };
  for (bool more : {true, true, false}) {
    auto decoded = (*session)->decode(take);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->more, more);
  }
  ASSERT_EQ(starts.size(), 40u);
  for (uint64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(starts[i], 1'000'000'000 + i * 100'000);
    EXPECT_EQ(first_values[i], static_cast<double>(starts[i] + std::strlen("gpc__cycles_elapsed.max")));
  }
}

TEST_F(Session, LosesNoSampleThatIsHalfDecoded) {
  auto session = open(16);
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->start());
  std::vector<uint64_t> starts;
  const auto take = [&](const PmSample& sample) { starts.push_back(sample.start_ns); };
  // Five more each time, the newest one always incomplete: the image passes its half with a sample that still waits.
  hardware.newest_is_partial = true;
  for (uint64_t round = 0; round < 3; ++round) {
    gather(5 * round, 5 * (round + 1));
    ASSERT_TRUE((*session)->decode(take));
  }
  EXPECT_EQ(starts.size(), 14u);
  hardware.newest_is_partial = false;
  ASSERT_TRUE((*session)->decode(take));
  ASSERT_EQ(starts.size(), 15u);
  for (uint64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(starts[i], 1'000'000'000 + i * 100'000);
  }
}

TEST_F(Session, DetailCanBeLeftOut) {
  auto session = PmSession::open(library, 0, {});
  ASSERT_TRUE(session);
  EXPECT_EQ(hardware.configured_metrics, 10u);
  EXPECT_EQ(missing_fields((*session)->metrics(), MetricGroup::fingerprint), "");
}

TEST_F(Session, TakesTheDeviceAnewWhereItDoesNotStartAgain) {
  auto session = open();
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->start());
  ASSERT_TRUE((*session)->stop());
  hardware.starts_to_refuse = 1;
  (*session)->set_interval(10'000);
  ASSERT_TRUE((*session)->start());
  EXPECT_EQ(hardware.enabled, 1);
  EXPECT_EQ(hardware.started_intervals, (std::vector<uint64_t>{100'000, 10'000}));
  hardware.starts_to_refuse = 2;
  ASSERT_TRUE((*session)->stop());
  const auto refused = (*session)->start();
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().message().empty());
}

// ---- The thread that samples one device ----------------------------------------------------------------------------

class OneDevice : public Session {
 protected:
  OneDevice() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read_end = ends[0];
    writer = std::make_unique<MessageWriter>(ends[1]);
    write_end = ends[1];
  }
  ~OneDevice() override {
    sampler.reset();
    ::close(read_end);
    ::close(write_end);
  }
  void start(const BurstPlan& bursts = {.length_ns = 0}, uint64_t interval_ns = 100'000) {
    auto session = open();
    ASSERT_TRUE(session) << session.error().message();
    sampler = std::make_unique<DeviceSampler>(*writer, 5, std::move(*session), interval_ns, bursts);
  }
  // All messages so far, by kind.
  void read_messages() {
    writer->flush();
    std::vector<std::byte> bytes(1 << 16);
    const ssize_t count = ::read(read_end, bytes.data(), bytes.size());
    for (size_t place = 0; static_cast<ssize_t>(place) < count;) {
      kvet_sampler_header header;
      std::memcpy(&header, bytes.data() + place, sizeof(header));
      const auto copy = [&](auto& list) { std::memcpy(&list.emplace_back(), bytes.data() + place, header.size); };
      switch (header.kind) {
        case KVET_SAMPLER_SAMPLE: copy(samples); break;
        case KVET_SAMPLER_LOSS: copy(losses); break;
        case KVET_SAMPLER_STATUS: copy(statuses); break;
        case KVET_SAMPLER_CLOCK: copy(clocks); break;
        default: ADD_FAILURE() << "message kind " << header.kind;
      }
      place += header.size;
    }
  }
  void stop() {
    sampler->request_stop(monotonic_ns() + 60'000'000'000);
    while (!sampler->done()) {
      ::usleep(1'000);
    }
  }
  void wait_until_decoded() {
    for (;;) {
      ::usleep(1'000);
      const std::lock_guard lock(hardware.mutex);
      if (hardware.buffer.empty() && !hardware.overflow) {
        return;
      }
    }
  }

  int read_end = -1, write_end = -1;
  std::unique_ptr<MessageWriter> writer;
  std::unique_ptr<DeviceSampler> sampler;
  std::vector<kvet_sampler_sample> samples;
  std::vector<kvet_sampler_loss> losses;
  std::vector<kvet_sampler_status> statuses;
  std::vector<kvet_sampler_clock> clocks;
};

TEST_F(OneDevice, SendsTheClockBeforeTheSamplesAndDropsTheFirst) {
  gather(0, 10);
  const int64_t before_ns = monotonic_ns();
  start();
  EXPECT_EQ(sampler->wait_flowing(), "");
  stop();
  read_messages();
  ASSERT_EQ(clocks.size(), 1u);
  EXPECT_EQ(clocks[0].raw_ns, 1'000'100'000u);  // the end of the first sample
  EXPECT_GE(clocks[0].earliest_ns, static_cast<uint64_t>(before_ns));
  EXPECT_GE(clocks[0].latest_ns, clocks[0].earliest_ns);
  ASSERT_EQ(samples.size(), 9u);
  EXPECT_EQ(samples[0].start_ns, 1'000'100'000u);
  EXPECT_EQ(samples[0].device, 5u);
  EXPECT_EQ(samples[0].known, (1u << KVET_COUNTER_FIELDS) - 1);
  EXPECT_EQ(hardware.starts, 1);
  EXPECT_EQ(hardware.stops, 1);
}

TEST_F(OneDevice, SaysSoWhenNothingComes) {
  start();
  EXPECT_NE(sampler->wait_flowing().find("no sample came"), std::string::npos);
}

TEST_F(OneDevice, SaysSoWhenTheStartIsRefused) {
  hardware.start_result = KVET_PM_HARDWARE_BUSY;
  start();
  EXPECT_NE(sampler->wait_flowing().find("held by another client"), std::string::npos);
}

TEST_F(OneDevice, StartsAgainAfterAnOverflowAndCountsTheHole) {
  gather(0, 10);
  start();
  EXPECT_EQ(sampler->wait_flowing(), "");
  {
    const std::lock_guard lock(hardware.mutex);
    hardware.overflow = true;
  }
  while (hardware.starts < 2) {  // what comes before the restart would still belong to the time before the hole
    ::usleep(1'000);
  }
  gather(49, 60);  // after the restart: the first of these spans the pause
  wait_until_decoded();
  stop();
  read_messages();
  EXPECT_EQ(hardware.starts, 2);
  ASSERT_FALSE(losses.empty());
  EXPECT_EQ(losses[0].loss, uint32_t{KVET_SAMPLER_LOSS_OVERFLOW});
  EXPECT_EQ(losses[0].count, 40u);  // 10 to 49, the dropped one included
  EXPECT_EQ(samples.size(), 9u + 10u);
  ASSERT_EQ(statuses.size(), 2u);
  EXPECT_EQ(statuses[1].state, uint32_t{KVET_SAMPLER_STATE_DEGRADED});
  EXPECT_NE(std::string(statuses[1].text).find("ran over"), std::string::npos);
}

TEST_F(OneDevice, ABurstIsFinerForAMomentAndLosesNothing) {
  gather(0, 10);
  start({.interval_ns = 10'000, .length_ns = 2'000'000, .period_ns = 20'000'000});
  EXPECT_EQ(sampler->wait_flowing(), "");
  while (hardware.starts < 3) {
    ::usleep(1'000);
  }
  {
    const std::lock_guard lock(hardware.mutex);
    EXPECT_EQ(hardware.started_intervals[0], 100'000u);
    EXPECT_EQ(hardware.started_intervals[1], 10'000u);
    EXPECT_EQ(hardware.started_intervals[2], 100'000u);
  }
  gather(100, 110);  // the first of these spans a pause
  wait_until_decoded();
  stop();
  read_messages();
  EXPECT_GE(sampler->account().bursts, 1u);
  EXPECT_GE(sampler->account().paused_ns, 9'000'000u);  // from sample 10 to 100, or later where a burst came between
  EXPECT_TRUE(std::all_of(losses.begin(), losses.end(), [](const kvet_sampler_loss& loss) {
    return loss.loss == uint32_t{KVET_SAMPLER_LOSS_UNDRAINED};  // the test's hardware has a clock of its own
  }));
  EXPECT_EQ(statuses.size(), 1u);
}

TEST_F(OneDevice, WhatCannotBeDecodedInTimeComesInTurns) {
  gather(0, 10);
  start({.length_ns = 0}, 10'000);
  EXPECT_EQ(sampler->wait_flowing(), "");
  while (hardware.starts < 4) {
    ::usleep(1'000);
  }
  stop();
  read_messages();
  EXPECT_GE(hardware.stops, 3);
  EXPECT_EQ(statuses.size(), 1u);  // it was asked for
}

TEST_F(OneDevice, AnImageThatRunsFullLeadsToTurns) {
  gather(0, 10);
  start();
  EXPECT_EQ(sampler->wait_flowing(), "");
  gather(10, 5'000);
  while (hardware.starts < 3) {
    ::usleep(1'000);
  }
  stop();
  read_messages();
  ASSERT_EQ(statuses.size(), 2u);
  EXPECT_EQ(statuses[1].state, uint32_t{KVET_SAMPLER_STATE_DEGRADED});
  EXPECT_NE(std::string(statuses[1].text).find("in turns of 100 ms"), std::string::npos);
}

TEST_F(OneDevice, AFailureLaterOnIsSaidAndTheRestIsCounted) {
  gather(0, 10);
  start();
  EXPECT_EQ(sampler->wait_flowing(), "");
  {
    const std::lock_guard lock(hardware.mutex);
    hardware.decode_result = KVET_PM_UNKNOWN;
  }
  ::usleep(120'000);  // longer than the 50 ms that a stop may cut off without a word
  stop();
  read_messages();
  ASSERT_EQ(statuses.size(), 2u);
  EXPECT_NE(std::string(statuses[1].text).find("sampling ended early"), std::string::npos);
  ASSERT_FALSE(losses.empty());
  EXPECT_EQ(losses.back().loss, uint32_t{KVET_SAMPLER_LOSS_UNDRAINED});
  EXPECT_GE(losses.back().count, 500u);
}

}  // namespace
}  // namespace kvet::probes
