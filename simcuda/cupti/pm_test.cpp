// The performance monitor against kernels whose resources, bytes and duration the test chose: sums over all samples must be
// what these give by multiplication, and the clock must be the planted one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "abi/vendor/cupti_pm.h"
#include "device/limits.h"
#include "device/shared_world.h"

extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxSetCurrent(void*);
int cuCtxSynchronize();
int cuModuleLoadData(void**, const void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuStreamCreate(void**, unsigned);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int cuptiPmSamplingEnable(kvet_pm_enable*);
int cuptiPmSamplingDisable(kvet_pm_object*);
int cuptiPmSamplingSetConfig(kvet_pm_set_config*);
int cuptiPmSamplingStart(kvet_pm_object*);
int cuptiPmSamplingStop(kvet_pm_object*);
int cuptiPmSamplingDecodeData(kvet_pm_decode*);
int cuptiPmSamplingGetCounterDataSize(kvet_pm_image_size*);
int cuptiPmSamplingCounterDataImageInitialize(kvet_pm_image_initialize*);
int cuptiPmSamplingGetCounterDataInfo(kvet_pm_image_info*);
int cuptiPmSamplingCounterDataGetSampleInfo(kvet_pm_sample_info*);
int cuptiProfilerHostInitialize(kvet_pm_host_initialize*);
int cuptiProfilerHostDeinitialize(kvet_pm_host_object*);
int cuptiProfilerHostConfigAddMetrics(kvet_pm_host_add_metrics*);
int cuptiProfilerHostGetConfigImageSize(kvet_pm_host_config_size*);
int cuptiProfilerHostGetConfigImage(kvet_pm_host_config*);
int cuptiProfilerHostEvaluateToGpuValues(kvet_pm_host_evaluate*);
}

namespace simcuda {
namespace {

// Before anything maps the machine.
const std::string device_path = [] {
  std::string path = "/tmp/simcuda-pm-test." + std::to_string(getpid());
  setenv("KVET_SIMCUDA_DEVICE", path.c_str(), 1);
  setenv("KVET_SIMCUDA_DEVICES", "1", 1);
  return path;
}();

const char* metric_names[] = {"sm__warps_active.sum",
                              "gr__ctas_completed.sum",
                              "dram__bytes_read.sum",
                              "TPC.TriageCompute.tpc__warps_launched_shader_cs.sum",
                              "TPC.TriageCompute.tpc__sm_rf_registers_allocated_shader_cs_realtime.sum",
                              "gpc__cycles_elapsed.max"};
constexpr size_t metric_count = std::size(metric_names);

struct Sampler {
  void* host = nullptr;
  void* sampling = nullptr;
  std::vector<uint8_t> image;

  explicit Sampler(uint64_t interval_ns) {
    kvet_pm_host_initialize initialize{};
    initialize.chip_name = "SIMCUDA";
    EXPECT_EQ(cuptiProfilerHostInitialize(&initialize), 0);
    host = initialize.host;
    kvet_pm_host_add_metrics add{0, nullptr, host, metric_names, metric_count};
    EXPECT_EQ(cuptiProfilerHostConfigAddMetrics(&add), 0);
    kvet_pm_host_config_size size{0, nullptr, host, 0};
    EXPECT_EQ(cuptiProfilerHostGetConfigImageSize(&size), 0);
    std::vector<uint8_t> config(size.config_size);
    kvet_pm_host_config get{0, nullptr, host, config.size(), config.data()};
    EXPECT_EQ(cuptiProfilerHostGetConfigImage(&get), 0);
    kvet_pm_enable enable{};
    EXPECT_EQ(cuptiPmSamplingEnable(&enable), 0);
    sampling = enable.sampling;
    kvet_pm_set_config set{};
    set.sampling = sampling;
    set.config = config.data();
    set.config_size = config.size();
    set.hardware_buffer_size = 512u << 20;
    set.sampling_interval = interval_ns;
    set.trigger = KVET_PM_TRIGGER_TIME;
    EXPECT_EQ(cuptiPmSamplingSetConfig(&set), 0);
    kvet_pm_image_size image_size{0, nullptr, sampling, metric_names, metric_count, 1000, 0};
    EXPECT_EQ(cuptiPmSamplingGetCounterDataSize(&image_size), 0);
    image.resize(image_size.image_size);
    reset();
  }
  ~Sampler() {
    kvet_pm_host_object object{0, nullptr, host};
    cuptiProfilerHostDeinitialize(&object);
  }
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  void reset() {
    kvet_pm_image_initialize initialize{0, nullptr, sampling, image.size(), image.data()};
    EXPECT_EQ(cuptiPmSamplingCounterDataImageInitialize(&initialize), 0);
  }
  struct Sample {
    uint64_t start, end;
    double values[metric_count];
  };
  std::vector<Sample> decode() {
    std::vector<Sample> all;
    for (uint32_t reason = KVET_PM_DECODE_IMAGE_FULL; reason == KVET_PM_DECODE_IMAGE_FULL;) {
      kvet_pm_decode decode{};
      decode.sampling = sampling;
      decode.image = image.data();
      decode.image_size = image.size();
      EXPECT_EQ(cuptiPmSamplingDecodeData(&decode), 0);
      EXPECT_EQ(decode.overflow, 0);
      reason = decode.stop_reason;
      kvet_pm_image_info info{0, nullptr, image.data(), image.size(), 0, 0, 0};
      EXPECT_EQ(cuptiPmSamplingGetCounterDataInfo(&info), 0);
      for (size_t i = 0; i < info.completed_samples; ++i) {
        Sample sample{};
        kvet_pm_sample_info times{0, nullptr, sampling, image.data(), image.size(), i, 0, 0};
        EXPECT_EQ(cuptiPmSamplingCounterDataGetSampleInfo(&times), 0);
        sample.start = times.start_ns;
        sample.end = times.end_ns;
        kvet_pm_host_evaluate evaluate{0, nullptr,      host,         image.data(), image.size(),
                                       i, metric_names, metric_count, sample.values};
        EXPECT_EQ(cuptiProfilerHostEvaluateToGpuValues(&evaluate), 0);
        all.push_back(sample);
      }
      reset();
    }
    return all;
  }
};

TEST(PerformanceMonitor, SumsAreWhatTheKernelsDid) {
  ASSERT_EQ(cuInit(0), 0);
  void *context = nullptr, *module = nullptr, *function = nullptr, *streams[2] = {};
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), 0);
  ASSERT_EQ(cuCtxSetCurrent(context), 0);
  ASSERT_EQ(cuModuleLoadData(&module, "//simcuda k registers=60 block_ns=40000 read=1000\n"), 0);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "k"), 0);
  for (void*& stream : streams) {
    ASSERT_EQ(cuStreamCreate(&stream, 1), 0);
  }
  constexpr uint64_t interval_ns = 20'000;
  Sampler sampler(interval_ns);
  kvet_pm_object object{0, nullptr, sampler.sampling};
  ASSERT_EQ(cuptiPmSamplingStart(&object), 0);
  int64_t started = monotonic_ns();
  constexpr int launches = 50;
  constexpr unsigned blocks = 100, threads = 192;  // 6 warps; 60 registers are 64: 2048 a warp
  for (int i = 0; i < launches; ++i) {
    ASSERT_EQ(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, streams[i % 2], nullptr, nullptr), 0);
  }
  ASSERT_EQ(cuCtxSynchronize(), 0);
  usleep(1000);
  int64_t before_stop = monotonic_ns();
  ASSERT_EQ(cuptiPmSamplingStop(&object), 0);
  int64_t after_stop = monotonic_ns();
  std::vector<Sampler::Sample> samples = sampler.decode();
  ASSERT_GT(samples.size(), 50u);
  double sums[metric_count] = {};
  for (size_t i = 0; i < samples.size(); ++i) {
    for (size_t metric = 0; metric < metric_count; ++metric) {
      sums[metric] += samples[i].values[metric];
    }
    if (i > 0) {
      EXPECT_EQ(samples[i].start, samples[i - 1].end);
      // The counters' clock ticks a little faster: 2.8 µs per second are nothing within one interval.
      EXPECT_NEAR(static_cast<double>(samples[i].end - samples[i].start), static_cast<double>(interval_ns), 2);
      EXPECT_NEAR(samples[i].values[5], interval_ns * clock_cycles_per_ns, 1e-6);
    }
  }
  EXPECT_NEAR(sums[0] / clock_cycles_per_ns, launches * blocks * 6.0 * 40000, 1);
  EXPECT_EQ(sums[1], launches * blocks);
  EXPECT_NEAR(sums[2], launches * blocks * 1000.0, 1e-3);
  EXPECT_EQ(sums[3], launches * blocks * 6);
  EXPECT_NEAR(sums[4] / clock_cycles_per_ns, launches * blocks * 6 * 2048.0 * 40000, 1e3);
  // The clock: monotonic + offset + drift. The last sample ends at most one interval before the stop.
  World* world = shared_world();
  auto to_monotonic = [&](uint64_t raw) {
    return static_cast<double>(static_cast<int64_t>(raw) - world->counter_offset_ns) /
           (1 + world->counter_drift_ns_per_s / 1e9);
  };
  EXPECT_GE(to_monotonic(samples.back().end), static_cast<double>(before_stop) - 2.0 * interval_ns);
  EXPECT_LE(to_monotonic(samples.back().end), static_cast<double>(after_stop) + 2);
  EXPECT_LE(to_monotonic(samples.front().end), static_cast<double>(started) + interval_ns + 2);
  cuptiPmSamplingDisable(&object);
  unlink(device_path.c_str());
}

}  // namespace
}  // namespace simcuda
