// A capture comes from somewhere else: the reader lets through every value that is in range, however absurd. Nothing may
// crash, hang or overflow on it; the sanitizer build tells.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

class Absurd {
 public:
  explicit Absurd(uint64_t seed) : random_(seed) {}

  // Times as the reader allows them: ±4·10^18, most of them near each other so that they meet.
  int64_t time() {
    constexpr int64_t limit = 4'000'000'000'000'000'000;
    switch (random_() % 6) {
      case 0: return limit - static_cast<int64_t>(random_() % 100);
      case 1: return -limit + static_cast<int64_t>(random_() % 100);
      default: return static_cast<int64_t>(random_() % 2000);
    }
  }
  template <class Row>
  void interval(Row& row) {
    row.start_ns = time();
    row.end_ns = std::max(row.start_ns, time());
  }
  uint32_t number() {
    constexpr uint32_t most = std::numeric_limits<uint32_t>::max();
    const uint32_t choices[] = {0, 1, 2, 32, 256, 1024, most, most - 1, static_cast<uint32_t>(random_())};
    return choices[random_() % std::size(choices)];
  }
  uint64_t long_number() { return random_() % 3 == 0 ? uint64_t{std::numeric_limits<int64_t>::max()} : number(); }
  std::optional<double> real() {
    const double choices[] = {
        0, 1, 1e-300, 1e300, std::numeric_limits<double>::max(), static_cast<double>(random_() % 1000)};
    return random_() % 5 == 0 ? std::nullopt : std::optional{choices[random_() % std::size(choices)]};
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

 private:
  std::mt19937_64 random_;
};

Capture absurd_capture(uint64_t seed) {
  Absurd draw{seed};
  Capture capture;
  capture.strings = {"", "k", "sibling"};
  capture.meta["check.launches_uprobe"] = seed % 2 == 0 ? "1e308" : "-5";
  capture.meta["overhead.x_ns"] = "nan";
  for (uint32_t id = 0; id < 2; ++id) {
    Process process;
    process.id = {id};
    capture.processes.push_back(process);
    Device device;
    device.id = {id};
    device.compute_major = draw.below(2) == 0 ? 9 : draw.number();
    device.multiprocessors = draw.number();
    device.max_warps_per_multiprocessor = draw.number();
    device.max_blocks_per_multiprocessor = draw.number();
    device.max_registers_per_multiprocessor = draw.number();
    device.max_shared_bytes_per_multiprocessor = draw.number();
    device.memory_bandwidth_bytes_per_s = draw.long_number();
    device.l2_bytes = draw.long_number();
    capture.devices.push_back(device);
  }
  for (uint32_t id = 0; id < 6; ++id) {
    KernelShape shape;
    shape.id = {id};
    shape.name = {1 + id % 2};
    for (auto* size : {&shape.grid, &shape.block, &shape.cluster}) {
      *size = {draw.number(), draw.number(), draw.number()};
    }
    shape.registers_per_thread = draw.number();
    shape.static_shared_bytes = draw.number();
    shape.dynamic_shared_bytes = draw.number();
    shape.shared_executed_bytes = draw.number();
    shape.max_active_clusters = draw.number();
    capture.shapes.push_back(shape);
  }
  for (int i = 0; i < 200; ++i) {
    Execution execution;
    execution.process = {draw.below(2)};
    execution.device = {draw.below(2)};
    execution.shape = {draw.below(6)};
    execution.context_id = draw.below(2);
    execution.stream_id = draw.below(4);
    execution.correlation_id = draw.below(30);
    execution.graph_id = draw.below(2);
    execution.graph_node_id = draw.below(3);
    draw.interval(execution);
    capture.executions.push_back(execution);
    ApiCall call;
    call.process = {draw.below(2)};
    call.kind = static_cast<ApiKind>(draw.below(9));
    call.correlation_id = draw.below(30);
    call.captured = draw.below(2) == 0;
    draw.interval(call);
    capture.api_calls.push_back(call);
    Sample sample;
    sample.device = {draw.below(2)};
    draw.interval(sample);
    for (auto* sum : {&sample.cycles_elapsed, &sample.sm_active_cycles, &sample.warp_cycles, &sample.register_cycles,
                      &sample.shared_byte_cycles, &sample.blocks_completed, &sample.dram_read_bytes,
                      &sample.dram_write_bytes, &sample.context_switch_cycles}) {
      *sum = draw.real();
    }
    capture.samples.push_back(sample);
  }
  for (int i = 0; i < 5; ++i) {
    Transfer transfer;
    draw.interval(transfer);
    transfer.bytes = draw.long_number();
    capture.transfers.push_back(transfer);
    capture.losses.push_back({Source::cupti, LossKind::ring_full, {}, draw.long_number(), {}, {}});
  }
  for (int i = 0; i < 6; ++i) {
    Context context;
    context.process = {draw.below(2)};
    context.device = {draw.below(2)};
    context.context_id = draw.below(3);
    context.parent_context_id = draw.below(3);
    context.green = draw.below(2) == 0;
    context.sharing = static_cast<ContextSharing>(draw.below(3));
    context.mps_thread_percent = draw.real();
    capture.contexts.push_back(context);
    DeviceReading reading;
    reading.device = {draw.below(2)};
    reading.time_ns = i < 3 ? static_cast<int64_t>(draw.below(2000)) : 4'000'000'000'000'000'000;
    if (draw.below(2) == 0) {
      reading.sm_clock_mhz = draw.below(2) == 0 ? 0xffffffffu : 0;
    }
    capture.device_readings.push_back(reading);
  }
  const char* const facts[] = {
      "-9223372036854775808", "9223372036854775807", "-4000000000000000000", "4000000000000000000", "0", "1000", "x"};
  for (const char* key : {"record.start_ns", "record.end_ns", "counters.paused_ns", "window.from_ns", "window.to_ns"}) {
    capture.meta[key] = facts[draw.below(7)];
  }
  for (uint32_t id = 0; id < 2; ++id) {
    ClockMapping mapping;
    mapping.source = ClockSource::counters;
    mapping.device = DeviceId{id};
    if (draw.below(4) != 0) {
      mapping.residual_ns = draw.below(3) == 0 ? 4'000'000'000'000'000'000 : draw.below(50);
    }
    capture.clock_mappings.push_back(mapping);
  }
  auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
  std::ranges::sort(capture.executions, by_start);
  std::ranges::sort(capture.api_calls, by_start);
  std::ranges::sort(capture.samples, by_start);
  std::ranges::sort(capture.transfers, by_start);
  return capture;
}

TEST(HostileValues, AnythingInRangeIsAnswered) {
  uint64_t answered = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Capture whole = absurd_capture(seed);
    const Capture part = within_window(whole, 100, 1500);
    for (const Capture* capture : {&whole, &part}) {
      const auto set = select_kernels(*capture, {"k"});
      ASSERT_TRUE(set);
      for (const auto& findings :
           {occupancy(*capture, *set), dram(*capture, *set), quality(*capture), conditions(*capture, *set)}) {
        ASSERT_FALSE(findings.empty());
        for (const Finding& finding : findings) {
          ASSERT_EQ(finding.value.has_value(), finding.evidence != Evidence::unavailable) << finding.id;
          ASSERT_TRUE(!finding.value || std::isfinite(*finding.value)) << finding.id;
          ASSERT_TRUE(!finding.interval ||
                      (std::isfinite(finding.interval->low) && std::isfinite(finding.interval->high)))
              << finding.id;
          answered += finding.value ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(answered, 400u * 2 * 5);
}

}  // namespace
}  // namespace kvet::questions
