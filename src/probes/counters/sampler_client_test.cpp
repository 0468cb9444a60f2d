// The recorder's side against children that behave well, badly, or not at all. The child is this very program, started
// again: what it does is in $KVET_TEST_SAMPLER.
#include "probes/counters/sampler_client.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "abi/counters.h"
#include "probes/counters/sampler.h"
#include "probes/counters/test_sink.h"

namespace kvet::probes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int data = 3, control = 4;  // as the client hands them over

// ---- The child -----------------------------------------------------------------------------------------------------

void put(const void* bytes, size_t size) {
  const auto* place = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::write(data, place, size);
    if (count <= 0) {
      ::_exit(3);
    }
    place += count;
    size -= static_cast<size_t>(count);
  }
}
template <class Message>
void send(uint32_t kind, Message message) {
  message.header = {kind, sizeof(Message)};
  put(&message, sizeof(message));
}
void send_status(uint32_t device, kvet_sampler_state state, const char* text) {
  kvet_sampler_status status{};
  status.device = device;
  status.state = state;
  std::strncpy(status.text, text, sizeof(status.text) - 1);
  send(KVET_SAMPLER_STATUS, status);
}
void greet() {
  send(KVET_SAMPLER_HELLO, kvet_sampler_hello{.header = {}, .version = KVET_SAMPLER_VERSION, .process_id = 1});
}
void announce(uint32_t index) {
  kvet_sampler_device device{};
  device.index = index;
  device.uuid[0] = static_cast<uint8_t>(index + 1);
  device.multiprocessors = 132;
  std::strcpy(device.name, "NVIDIA H200");
  std::strcpy(device.driver_version, "580.159.03");
  send(KVET_SAMPLER_DEVICE, device);
}
void send_samples(uint32_t device, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    kvet_sampler_sample sample{};
    sample.device = device;
    sample.start_ns = 1'000'000 + i * 100'000;
    sample.end_ns = sample.start_ns + 100'000;
    sample.known = 1u << KVET_COUNTER_WARP_CYCLES | 1u << KVET_COUNTER_DRAM_READ_BYTES;
    sample.values[KVET_COUNTER_WARP_CYCLES] = static_cast<double>(i);
    sample.values[KVET_COUNTER_DRAM_READ_BYTES] = -1;  // a value that cannot be
    send(KVET_SAMPLER_SAMPLE, sample);
  }
}
void wait_for_stop() {
  uint64_t drain_ms = 0;
  if (::read(control, &drain_ms, sizeof(drain_ms)) != sizeof(drain_ms)) {
    ::_exit(4);
  }
}
void start_well() {
  greet();
  announce(0);
  send(KVET_SAMPLER_CLOCK, kvet_sampler_clock{{}, 0, 0, 1'000'000, 501'000'000, 503'000'000});
  send_status(0, KVET_SAMPLER_STATE_SAMPLING, "sm__warps_active.sum,dram__bytes_read.sum");
  send_samples(0, 10'000);  // 1.5 MB: more than the pipe holds
  send(KVET_SAMPLER_READY, kvet_sampler_ready{});
}

[[noreturn]] void be_sampler(const std::string& behaviour) {
  if (behaviour == "good") {
    start_well();
    wait_for_stop();
    send(KVET_SAMPLER_READING, kvet_sampler_reading{.header = {},
                                                    .device = 0,
                                                    .known = KVET_READING_POWER | KVET_READING_THROTTLE,
                                                    .time_ns = 77,
                                                    .power_milliwatts = 250'000,
                                                    .sm_clock_mhz = 0,
                                                    .memory_clock_mhz = 0,
                                                    .temperature_celsius = 0,
                                                    .throttle_reasons = 4,
                                                    .gpm_sm_occupancy_percent = 0,
                                                    .gpm_dram_percent = 0,
                                                    .gpm_sm_active_percent = 0});
    send(KVET_SAMPLER_LOSS, kvet_sampler_loss{{}, 0, KVET_SAMPLER_LOSS_GAP, 5, 2'000'000, 2'500'000});
    send_samples(0, 5);
    send(KVET_SAMPLER_END, kvet_sampler_end{{}, 10'005, 123});
    ::_exit(0);
  }
  if (behaviour == "refused") {
    greet();
    announce(0);
    send_status(0, KVET_SAMPLER_STATE_REFUSED, "no, since this is a test");
    send(KVET_SAMPLER_READY, kvet_sampler_ready{});
    wait_for_stop();
    send(KVET_SAMPLER_END, kvet_sampler_end{});
    ::_exit(0);
  }
  if (behaviour == "two") {
    greet();
    announce(0);
    announce(1);
    send_status(0, KVET_SAMPLER_STATE_SAMPLING, "a");
    send_status(1, KVET_SAMPLER_STATE_GPM, "GPM only");
    send(KVET_SAMPLER_READY, kvet_sampler_ready{});
    wait_for_stop();
    send(KVET_SAMPLER_END, kvet_sampler_end{});
    ::_exit(0);
  }
  if (behaviour == "crash") {
    start_well();
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
  }
  if (behaviour == "hang") {
    start_well();
    for (;;) {
      ::pause();
    }
  }
  if (behaviour == "close") {
    start_well();
    ::close(data);
    for (;;) {
      ::pause();
    }
  }
  if (behaviour == "garbage") {
    greet();
    const char garbage[] = "this is no message at all";
    put(garbage, sizeof(garbage));
  }
  if (behaviour == "old") {
    send(KVET_SAMPLER_HELLO, kvet_sampler_hello{.header = {}, .version = 99, .process_id = 1});
  }
  if (behaviour == "stranger") {
    greet();
    send_samples(7, 1);
  }
  if (behaviour == "arguments" || behaviour == "environment") {
    // Hands back how it was started, through the one text that there is.
    std::ifstream file(behaviour == "arguments" ? "/proc/self/cmdline" : "/proc/self/environ");
    std::stringstream all;
    all << file.rdbuf();
    std::string text = all.str();
    std::string kept;
    for (size_t from = 0; from < text.size(); from += std::strlen(text.c_str() + from) + 1) {
      const std::string word = text.c_str() + from;
      if (behaviour == "arguments" || word.starts_with("CUDA_") || word.starts_with("NVTX_")) {
        kept += word + " ";
      }
    }
    greet();
    send_status(KVET_SAMPLER_ALL_DEVICES, KVET_SAMPLER_STATE_REFUSED, kept.c_str());
    send(KVET_SAMPLER_READY, kvet_sampler_ready{});
    wait_for_stop();
    send(KVET_SAMPLER_END, kvet_sampler_end{});
  }
  if (behaviour == "real") {  // the sampler itself, on whatever libraries LD_LIBRARY_PATH leads to
    SamplerArguments arguments;
    arguments.data_descriptor = data;
    arguments.control_descriptor = control;
    const char* mode = std::getenv("KVET_TEST_MODE");
    arguments.mode =
        mode != nullptr && std::string(mode) == "gpm" ? CounterMode::gpm : CounterMode::performance_monitor;
    run_sampler(arguments);
  }
  ::_exit(0);
}

// Before main: as a child, this program is no test program.
[[maybe_unused]] const bool child = [] {
  if (const char* behaviour = std::getenv("KVET_TEST_SAMPLER")) {
    be_sampler(behaviour);
  }
  return false;
}();

// ---- The tests -----------------------------------------------------------------------------------------------------

class Sampling : public testing::Test {
 protected:
  ~Sampling() override {
    client.reset();
    for (const char* name :
         {"KVET_TEST_SAMPLER", "KVET_TEST_MODE", "CUDA_VISIBLE_DEVICES", "CUDA_INJECTION64_PATH", "LD_LIBRARY_PATH",
          "KVET_SIMCUDA_DEVICE", "KVET_SIMCUDA_DEVICES", "KVET_SIMCUDA_COUNTERS", "KVET_SIMCUDA_LOST_AFTER_MS"}) {
      ::unsetenv(name);
    }
  }
  void start(const char* behaviour) {
    ::setenv("KVET_TEST_SAMPLER", behaviour, 1);
    auto started = SamplerClient::start(options, directory);
    ::unsetenv("KVET_TEST_SAMPLER");
    ASSERT_TRUE(started) << started.error().message();
    client = std::move(*started);
  }
  [[nodiscard]] std::string fact(const std::string& key) const {
    for (const Meta& meta : sink.metas) {
      if (meta.key == key) {
        return meta.value;
      }
    }
    return "(absent)";
  }
  [[nodiscard]] size_t deaths() const {
    size_t count = 0;
    for (const Loss& loss : sink.losses) {
      count += loss.kind == LossKind::sampler_died && loss.source == Source::counters ? 1 : 0;
    }
    return count;
  }

  CounterTestSink sink;
  DeviceDirectory directory;
  SamplerOptions options;
  std::unique_ptr<SamplerClient> client;
};

TEST_F(Sampling, HandsOnEverythingThatAGoodChildSends) {
  start("good");
  EXPECT_TRUE(client->wait_ready(sink, seconds(60)));
  EXPECT_TRUE(client->sampling());
  client->stop(sink, seconds(60));
  EXPECT_EQ(client->status(), "ok");
  EXPECT_EQ(client->descriptor(), -1);
  EXPECT_EQ(client->samples(), 10'005u);
  ASSERT_EQ(sink.samples.size(), 10'005u);
  EXPECT_EQ(sink.samples[9'999].start_ns, 1'000'000 + 9'999 * 100'000);
  EXPECT_EQ(sink.samples[9'999].warp_cycles, 9'999.0);
  EXPECT_EQ(sink.samples[0].dram_read_bytes, std::nullopt);  // −1 bytes are not known bytes
  EXPECT_EQ(sink.samples[0].instructions, std::nullopt);     // not sampled

  ASSERT_EQ(sink.devices.size(), 1u);
  EXPECT_EQ(sink.text(sink.devices[0].name), "NVIDIA H200");
  EXPECT_EQ(sink.devices[0].uuid[0], 1);
  ASSERT_EQ(sink.clock_mappings.size(), 1u);
  // raw 1 ms was between 501 and 503 ms.
  EXPECT_EQ(sink.clock_mappings[0].offset_ns, 501'000'000);
  EXPECT_EQ(sink.clock_mappings[0].source, ClockSource::counters);
  EXPECT_EQ(sink.clock_mappings[0].residual_ns, std::nullopt);

  ASSERT_EQ(sink.device_readings.size(), 1u);
  EXPECT_EQ(sink.device_readings[0].power_milliwatts, 250'000u);
  EXPECT_EQ(sink.device_readings[0].throttle_reasons, 4u);
  EXPECT_EQ(sink.device_readings[0].sm_clock_mhz, std::nullopt);
  ASSERT_EQ(sink.losses.size(), 1u);
  EXPECT_EQ(sink.losses[0].kind, LossKind::counter_gap);
  EXPECT_EQ(sink.losses[0].count, 5u);
  EXPECT_EQ(sink.losses[0].first_ns, 503'000'000);  // on CLOCK_MONOTONIC, by the coarse offset

  EXPECT_EQ(fact("counters.mode"), "pm");
  EXPECT_EQ(fact("counters.interval_ns"), "100000");
  EXPECT_EQ(fact("counters.status"), "ok");
  EXPECT_EQ(fact("counters.metrics"), "sm__warps_active.sum,dram__bytes_read.sum");
  EXPECT_EQ(fact("counters.processor_time_ns"), "123");
  EXPECT_EQ(fact("driver_version"), "580.159.03");
}

TEST_F(Sampling, ARefusalIsNoDeath) {
  start("refused");
  EXPECT_FALSE(client->wait_ready(sink, seconds(60)));
  client->stop(sink, seconds(60));
  EXPECT_EQ(client->status(), "no, since this is a test");
  EXPECT_EQ(fact("counters.mode"), "off");
  EXPECT_EQ(deaths(), 0u);
}

TEST_F(Sampling, TroubleNamesTheGpuWhereThereAreSeveral) {
  start("two");
  EXPECT_TRUE(client->wait_ready(sink, seconds(60)));
  client->stop(sink, seconds(60));
  EXPECT_EQ(client->status(), "GPU 1: GPM only");
  EXPECT_EQ(fact("counters.mode"), "pm");
}

TEST_F(Sampling, ACrashIsALossAndTheSamplesBeforeItAreKept) {
  start("crash");
  client->wait_ready(sink, seconds(60));
  client->stop(sink, seconds(60));
  EXPECT_EQ(sink.samples.size(), 10'000u);
  EXPECT_EQ(deaths(), 1u);
  EXPECT_NE(client->status().find("died of signal 11"), std::string::npos) << client->status();
  EXPECT_FALSE(client->sampling());
  EXPECT_EQ(fact("counters.status"), client->status());
}

TEST_F(Sampling, AChildThatDoesNotStopIsEnded) {
  start("hang");
  EXPECT_TRUE(client->wait_ready(sink, seconds(60)));
  client->stop(sink, milliseconds(50));
  EXPECT_EQ(deaths(), 1u);
  EXPECT_NE(client->status().find("did not stop"), std::string::npos) << client->status();
}

TEST_F(Sampling, AChildThatClosesItsPipeIsEnded) {
  start("close");
  client->wait_ready(sink, seconds(60));
  client->stop(sink, seconds(60));
  EXPECT_EQ(deaths(), 1u);
  EXPECT_NE(client->status().find("closed its pipe"), std::string::npos) << client->status();
}

TEST_F(Sampling, NonsenseEndsTheChild) {
  for (const auto& [behaviour, expected] : std::map<const char*, const char*>{{"garbage", "cannot be read"},
                                                                              {"stranger", "GPU 7 was never announced"},
                                                                              {"old", "replaced while it ran"}}) {
    sink = CounterTestSink{};
    start(behaviour);
    client->wait_ready(sink, seconds(60));
    client->stop(sink, seconds(60));
    EXPECT_EQ(deaths(), 1u) << behaviour;
    EXPECT_NE(client->status().find(expected), std::string::npos) << client->status();
  }
}

TEST_F(Sampling, TellsTheChildWhatWasAsked) {
  options.mode = CounterMode::gpm;
  options.interval_ns = 250'000'000;
  options.library_paths = {"/opt/my cupti"};
  options.devices = {DeviceDirectory::Uuid{0xab, 0x01}};
  start("arguments");
  client->wait_ready(sink, seconds(60));
  EXPECT_NE(client->status().find("__sampler --mode gpm --interval-ns 250000000"), std::string::npos)
      << client->status();
  EXPECT_NE(client->status().find("--library /opt/my cupti"), std::string::npos);
  EXPECT_NE(client->status().find("--device ab010000000000000000000000000000"), std::string::npos);
}

TEST_F(Sampling, TheChildSeesEveryGpuAndNobodysProfiler) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  ::setenv("CUDA_INJECTION64_PATH", "/somebody/elses.so", 1);
  start("environment");
  client->wait_ready(sink, seconds(60));
  EXPECT_EQ(client->status().find("CUDA_VISIBLE_DEVICES"), std::string::npos) << client->status();
  EXPECT_EQ(client->status().find("CUDA_INJECTION64_PATH"), std::string::npos) << client->status();
  EXPECT_NE(client->status().find("CUDA_DEVICE_ORDER=PCI_BUS_ID"), std::string::npos) << client->status();
}

TEST_F(Sampling, RefusesIntervalsThatTheHardwareNeverKept) {
  for (int64_t interval_ns : {int64_t{0}, int64_t{1'999}, int64_t{1'000'000'001}}) {
    options.interval_ns = interval_ns;
    auto started = SamplerClient::start(options, directory);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().kind, ErrorKind::usage);
  }
}

TEST_F(Sampling, AProgramThatIsNotThereIsAnError) {
  options.program = "/nonexistent/kvet";
  EXPECT_FALSE(SamplerClient::start(options, directory));
}

// ---- The real sampler, on the modelled device ----------------------------------------------------------------------

class OnModelledDevice : public Sampling {
 protected:
  OnModelledDevice() {
    libraries = std::string(KVET_BINARY_DIR) + "/simcuda/lib";
    device = "/tmp/kvet-sampler-test." + std::to_string(::getpid());
    ::setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
    ::setenv("KVET_SIMCUDA_DEVICE", device.c_str(), 1);
    ::setenv("KVET_SIMCUDA_DEVICES", "2", 1);
  }
  ~OnModelledDevice() override { ::unlink(device.c_str()); }
  [[nodiscard]] bool missing() const { return ::access((libraries + "/libcupti.so.13").c_str(), R_OK) != 0; }
  std::string libraries, device;
};

TEST_F(OnModelledDevice, SamplesBothGpusWithoutAGap) {
  if (missing()) {
    GTEST_SKIP() << "the stand-in libraries are not built: ninja simcuda_cuda simcuda_cupti simcuda_nvml";
  }
  start("real");
  ASSERT_TRUE(client->wait_ready(sink, seconds(60))) << client->status();
  while (client->samples() < 4'000 && client->descriptor() >= 0) {
    ::usleep(5'000);
    client->poll(sink);
  }
  client->stop(sink, seconds(60));
  EXPECT_EQ(client->achieved_mode(), CounterMode::performance_monitor);
  EXPECT_EQ(client->status(), "ok");
  EXPECT_TRUE(sink.losses.empty());
  ASSERT_EQ(sink.devices.size(), 2u);
  EXPECT_NE(sink.devices[0].multiprocessors, 0u);
  // One coarse mapping each; those with a residual are anchors by pulses.
  EXPECT_EQ(std::count_if(sink.clock_mappings.begin(), sink.clock_mappings.end(),
                          [](const ClockMapping& mapping) { return !mapping.residual_ns; }),
            2);
  EXPECT_FALSE(sink.device_readings.empty());

  std::map<DeviceId, int64_t> last_end;
  std::map<DeviceId, size_t> count;
  int64_t between = 0;
  for (const Sample& sample : sink.samples) {
    const int64_t length = sample.end_ns - sample.start_ns;
    EXPECT_NEAR(static_cast<double>(length), length < 50'000 ? 10'000 : 100'000,
                1);  // the planted drift is 0.3 ns of it
    if (auto before = last_end.find(sample.device); before != last_end.end()) {
      EXPECT_GE(sample.start_ns, before->second);
      between += sample.start_ns - before->second;
    }
    last_end[sample.device] = sample.end_ns;
    ++count[sample.device];
  }
  EXPECT_EQ(count.size(), 2u);
  // What is missing is what was left out by plan, around bursts and changes of the metrics.
  const std::string paused = fact("counters.paused_ns");
  EXPECT_NEAR(static_cast<double>(between), paused == "(absent)" ? 0 : std::stod(paused), 1'000);
  // The coarse mapping must land on CLOCK_MONOTONIC, which the raw clock is decades away from.
  for (const ClockMapping& mapping : sink.clock_mappings) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const double age_s =
        static_cast<double>(now.tv_sec) - static_cast<double>(last_end[*mapping.device] + mapping.offset_ns) / 1e9;
    EXPECT_GT(age_s, -2);
    EXPECT_LT(age_s, 60);
  }
}

TEST_F(OnModelledDevice, WithoutTheRightItFallsBackToGpmOrSaysWhatWouldHelp) {
  if (missing()) {
    GTEST_SKIP() << "the stand-in libraries are not built: ninja simcuda_cuda simcuda_cupti simcuda_nvml";
  }
  ::setenv("KVET_SIMCUDA_COUNTERS", "refused", 1);
  start("real");
  EXPECT_FALSE(client->wait_ready(sink, seconds(60)));
  EXPECT_NE(client->status().find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos) << client->status();
  client->stop(sink, seconds(60));
  EXPECT_TRUE(sink.samples.empty());
  EXPECT_EQ(deaths(), 0u);
}

TEST_F(OnModelledDevice, HeldCountersNameTheKindOfHolder) {
  if (missing()) {
    GTEST_SKIP() << "the stand-in libraries are not built: ninja simcuda_cuda simcuda_cupti simcuda_nvml";
  }
  ::setenv("KVET_SIMCUDA_COUNTERS", "held", 1);
  start("real");
  EXPECT_FALSE(client->wait_ready(sink, seconds(60)));
  EXPECT_NE(client->status().find("held by another client"), std::string::npos) << client->status();
}

TEST_F(OnModelledDevice, SaysThatAGpuIsLost) {
  if (missing()) {
    GTEST_SKIP() << "the stand-in libraries are not built: ninja simcuda_cuda simcuda_cupti simcuda_nvml";
  }
  ::setenv("KVET_SIMCUDA_LOST_AFTER_MS", "500", 1);
  start("real");
  client->wait_ready(sink, seconds(60));
  // Readings come every 100 ms: until there are two of each GPU that hold nothing, however slow this machine is.
  const auto silent = [&] {
    return std::ranges::count_if(sink.device_readings, [](const DeviceReading& reading) {
      return !reading.power_milliwatts && !reading.sm_clock_mhz && !reading.memory_clock_mhz &&
             !reading.temperature_celsius && !reading.throttle_reasons;
    });
  };
  for (int wait = 0; wait < 600 && silent() < 4; ++wait) {
    client->poll(sink);
    std::this_thread::sleep_for(milliseconds(100));
  }
  client->stop(sink, seconds(60));
  EXPECT_GE(silent(), 4);
  EXPECT_NE(client->status().find("the GPU is lost"), std::string::npos) << client->status();
  EXPECT_EQ(deaths(), 0u) << "the sampler goes on for the other GPUs";
}

}  // namespace
}  // namespace kvet::probes
