// What goes into a capture file comes out of it again: every member of every kind, mapped and sorted.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <tuple>

#include "store/reader.h"
#include "store/test_support.h"
#include "store/writer.h"

namespace kvet::store {
namespace {

// Every member, so that one which the schema forgets is missed here; the number of names breaks the build when a struct
// grows.
auto members(const Process& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j);
}
auto members(const Device& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
}
auto members(const Context& row) {
  const auto& [a, b, c, d, e, f, g, h] = row;
  return std::tie(a, b, c, d, e, f, g, h);
}
auto members(const KernelShape& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
}
auto members(const ApiCall& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j);
}
auto members(const Execution& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j);
}
auto members(const Transfer& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k);
}
auto members(const Range& row) {
  const auto& [a, b, c, d, e, f] = row;
  return std::tie(a, b, c, d, e, f);
}
auto members(const OffCpu& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k);
}
auto members(const CollectiveCall& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k);
}
auto members(const Communicator& row) {
  const auto& [a, b, c, d, e, f, g, h] = row;
  return std::tie(a, b, c, d, e, f, g, h);
}
auto members(const Sample& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
}
auto members(const DeviceReading& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j);
}
auto members(const Loss& row) {
  const auto& [a, b, c, d, e, f] = row;
  return std::tie(a, b, c, d, e, f);
}
auto members(const ClockMapping& row) {
  const auto& [a, b, c, d, e, f, g, h, i] = row;
  return std::tie(a, b, c, d, e, f, g, h, i);
}

class RoundTrip : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fresh_path("round_trip.kvet");
    auto writer = CaptureWriter::create(path_);
    ASSERT_TRUE(writer) << writer.error().message();
    sink_ = std::move(*writer);
  }
  Capture finish_and_read() {
    auto finished = sink_->finish();
    EXPECT_TRUE(finished) << finished.error().message();
    auto capture = read_capture(path_);
    EXPECT_TRUE(capture) << capture.error().message();
    return capture ? std::move(*capture) : Capture{};
  }
  template <class Row>
  void expect_same(const std::vector<Row>& rows, const std::vector<Row>& expected) {
    ASSERT_EQ(rows.size(), expected.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_TRUE(members(rows[i]) == members(expected[i])) << typeid(Row).name() << ' ' << i;
    }
  }

  std::string path_;
  std::unique_ptr<CaptureWriter> sink_;
};

TEST_F(RoundTrip, EveryMemberOfEveryKind) {
  CaptureWriter& sink = *sink_;
  const StringId a = sink.intern("alpha"), b = sink.intern("beta \xff\n'\""), empty = sink.intern("");
  const std::string with_zero("a\0b", 3);
  const StringId zero = sink.intern(with_zero);
  EXPECT_EQ(sink.intern("alpha"), a);
  EXPECT_EQ(empty.value, 0u);

  std::vector<Process> processes{{{0}, 4711, 1, 17, a, b, 100, 200, 256, 3},
                                 {{1}, 4712, 4711, 0, b, a, 300, {}, {}, 0}};
  std::vector<Device> devices{
      {{0},
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255},
       a,
       9,
       0,
       132,
       64,
       32,
       65536,
       233472,
       232448,
       150'000'000'000,
       4'800'000'000'000,
       50'000'000,
       b,
       700'000,
       true},
      {{1}, {}, b, 8, 6, 84, 48, 16, 65536, 102400, 101376, 24'000'000'000, 0, 0, a, {}, false}};
  std::vector<KernelShape> shapes{
      {{0}, a, {1, 2, 3}, {256, 4, 1}, {2, 1, 1}, 32, 48, 49152, 102400, 8, 66, 0xfedcba9876543210u},
      {{1}, zero, {0xffffffffu, 0, 0}, {}, {}, 255, 0, 0, 0, 0, 0, 0}};
  for (const Process& row : processes)
    sink.on(row);
  for (const Device& row : devices)
    sink.on(row);
  for (const KernelShape& row : shapes)
    sink.on(row);

  const std::vector<Context> contexts{{{1}, {0}, 4, ContextSharing::time_sliced, true, 1, 16, {}},
                                      {{0}, {1}, 0xffffffffu, ContextSharing::mps, false, 0, {}, 12.5}};
  for (const Context& row : contexts)
    sink.on(row);

  std::vector<ApiCall> calls{
      {{1}, 4713, ApiKind::launch_graph, Source::cupti, 0xffffffffu, 1000, 1700, -3, 0x8000000000000001u, true},
      {{0}, 4711, ApiKind::copy_async, Source::uprobe, 0, 1001, 1001, 700, 0, false}};
  std::vector<Execution> executions{
      {{1}, {1}, {1}, 1, 7, 42, 0, 0, 5'000'000'000'000, 5'000'000'007'000},
      {{0}, {0}, {0}, 2, 0xffffffffu, 43, 9, 0xfffffffffffffff0u, 5'000'000'000'001, 5'000'000'000'001}};
  std::vector<Transfer> transfers{{{1}, {0}, TransferKind::memset, 1, 2, 3, 4, 5, 1ull << 40, 10, 20}};
  std::vector<Range> ranges{{{0}, 4711, a, b, 1, 1'000'000'000'000}};
  std::vector<OffCpu> off{{{1}, 4713, OffCpuReason::throttled, -1, 50, 50, 90, 7, 0, empty, 0},
                          {{0}, 4711, OffCpuReason::futex, 202, 60, 80, 81, 3, 99, a, 98}};
  std::vector<CollectiveCall> collectives{
      {{1}, 4713, CollectiveKind::reduce_scatter, 0xffff888000000000u, 3, 1u << 20, 7, 2, -5, 70, 75}};
  std::vector<Communicator> communicators{{{1}, 0xffff888000000000u, 1, 3, 8, -2, a, 65}};
  std::vector<Sample> samples{{{1}, 100, 200, 1.5, 2, 3.25, 4, 5, 6, 7, 8, 9, 1e12, 11, 12, 13, 14, 15},
                              {{0}, 200, 300, {}, {}, {}, {}, {}, {}, {}, {}, {}, 0.0, {}, {}, {}, {}, {}}};
  std::vector<DeviceReading> readings{{{0}, 5, 650'000, 1980, 3201, 71, 0x40, 12.5, 80.25, 99},
                                      {{1}, 6, {}, {}, {}, {}, {}, {}, {}, {}}};
  std::vector<Loss> losses{{Source::cupti, LossKind::cupti_dropped, ProcessId{1}, 12, 3, 4},
                           {Source::nvml, LossKind::unjoined, {}, 1, {}, {}}};
  for (const ApiCall& row : calls)
    sink.on(row);
  for (const Execution& row : executions)
    sink.on(row);
  for (const Transfer& row : transfers)
    sink.on(row);
  for (const Range& row : ranges)
    sink.on(row);
  for (const OffCpu& row : off)
    sink.on(row);
  for (const CollectiveCall& row : collectives)
    sink.on(row);
  for (const Communicator& row : communicators)
    sink.on(row);
  for (const Sample& row : samples)
    sink.on(row);
  for (const DeviceReading& row : readings)
    sink.on(row);
  for (const Loss& row : losses)
    sink.on(row);
  sink.on(Meta{"tier", "host"});
  sink.on(Meta{"tier", "full"});

  const Capture capture = finish_and_read();
  EXPECT_TRUE(capture.complete);
  EXPECT_EQ(capture.text(b), "beta \xff\n'\"");
  EXPECT_EQ(capture.text(zero), with_zero);
  expect_same(capture.processes, processes);
  expect_same(capture.devices, devices);
  expect_same(capture.shapes, shapes);
  expect_same(capture.contexts, contexts);
  expect_same(capture.api_calls, calls);
  expect_same(capture.executions, executions);
  expect_same(capture.transfers, transfers);
  expect_same(capture.ranges, ranges);
  expect_same(capture.off_cpu, off);
  expect_same(capture.collective_calls, collectives);
  expect_same(capture.communicators, communicators);
  expect_same(capture.samples, samples);
  expect_same(capture.device_readings, readings);
  expect_same(capture.losses, losses);
  EXPECT_EQ(capture.fact("tier"), "full");
  EXPECT_EQ(capture.meta.size(), 1u);
  EXPECT_EQ(sink.dropped_rows(), 0u);
  EXPECT_EQ(sink.first_error(), nullptr);
}

TEST_F(RoundTrip, MappingsAreAppliedAndKept) {
  sink_->on(Process{});
  sink_->on(Device{});
  Device second;
  second.id = {1};
  sink_->on(second);
  sink_->on(KernelShape{});
  // Activity: +100 from raw 0; from raw 10^9 on +200 and 2000 ns per second more.
  const std::vector<ClockMapping> mappings{{ClockSource::activity, {}, 0, 100, 0, 5, {}, {}, {}},
                                           {ClockSource::activity, {}, 1'000'000'000, 200, 2000, 5, {}, {}, {}},
                                           {ClockSource::counters, DeviceId{1}, 0, -50, 0, {}, {}, {}, {}},
                                           {ClockSource::counters, {}, 0, 1'000'000, 0, 7, 21, 900, -70}};
  for (const ClockMapping& mapping : mappings) {
    sink_->on(mapping);
  }
  auto execute = [&](int64_t from, int64_t to) {
    Execution execution;
    execution.start_ns = from;
    execution.end_ns = to;
    sink_->on(execution);
  };
  execute(2'000'000'000,
          2'500'000'000);  // one second into the second piece: +200 + 2000; its end half a second later: + 1000
  execute(-40, 7);  // before the first piece: that piece
  execute(999'999'999, 1'500'000'000);  // begins in the first piece: both ends by it
  Sample sample;
  sample.start_ns = 1000;
  sample.end_ns = 2000;
  sink_->on(sample);
  sample.device = {1};
  sink_->on(sample);
  ApiCall call;
  call.start_ns = call.end_ns = 5;
  sink_->on(call);
  call.source = Source::uprobe;
  sink_->on(call);

  const Capture capture = finish_and_read();
  ASSERT_EQ(capture.executions.size(), 3u);
  EXPECT_EQ(capture.executions[0].start_ns, 60);
  EXPECT_EQ(capture.executions[0].end_ns, 107);
  EXPECT_EQ(capture.executions[1].start_ns, 1'000'000'099);
  EXPECT_EQ(capture.executions[1].end_ns, 1'500'000'100);
  EXPECT_EQ(capture.executions[2].start_ns, 2'000'002'200);
  EXPECT_EQ(capture.executions[2].end_ns, 2'500'003'200);
  ASSERT_EQ(capture.samples.size(), 2u);
  EXPECT_EQ(capture.samples[0].device.value, 1u);
  EXPECT_EQ(capture.samples[0].start_ns, 950);
  EXPECT_EQ(capture.samples[1].end_ns, 1'002'000);
  ASSERT_EQ(capture.api_calls.size(), 2u);
  EXPECT_EQ(capture.api_calls[0].start_ns, 5);  // uprobes are on the host clock
  EXPECT_EQ(capture.api_calls[1].start_ns, 105);
  expect_same(capture.clock_mappings, mappings);
}

TEST_F(RoundTrip, ImportedFilesUseTheirOwnClock) {
  sink_->on(Process{});
  sink_->on(Device{});
  sink_->on(KernelShape{});
  sink_->on(ClockMapping{ClockSource::imported, {}, 0, 300, 0, {}, {}, {}, {}});
  Execution execution;
  execution.end_ns = 10;
  sink_->on(execution);
  const Capture capture = finish_and_read();
  ASSERT_EQ(capture.executions.size(), 1u);
  EXPECT_EQ(capture.executions[0].start_ns, 300);
}

// A row that the reader would refuse would make the whole file unreadable: it is dropped and counted.
TEST_F(RoundTrip, BadRowsAreDroppedAndCounted) {
  sink_->on(Process{});
  sink_->on(Device{});
  sink_->on(KernelShape{});
  Execution execution;
  execution.start_ns = 100;
  execution.end_ns = 99;
  sink_->on(execution);  // ends before it starts
  execution.end_ns = 101;
  sink_->on(execution);  // good
  execution.shape = {1};
  sink_->on(execution);  // no such shape
  execution.shape = {0};
  execution.start_ns = std::numeric_limits<int64_t>::min();
  sink_->on(execution);  // no such time
  OffCpu off;
  off.start_ns = 10;
  off.wake_ns = 9;
  off.end_ns = 20;
  sink_->on(off);  // woken before it slept
  Sample sample;
  sample.end_ns = 5;
  sample.warp_cycles = -1;
  sink_->on(sample);  // less than nothing
  sample.warp_cycles = std::numeric_limits<double>::infinity();
  sink_->on(sample);
  ApiCall call;
  call.kind = static_cast<ApiKind>(200);
  sink_->on(call);

  const Capture capture = finish_and_read();
  EXPECT_EQ(capture.executions.size(), 1u);
  EXPECT_TRUE(capture.off_cpu.empty());
  EXPECT_TRUE(capture.samples.empty());
  EXPECT_TRUE(capture.api_calls.empty());
  std::map<LossKind, uint64_t> counts;
  for (const Loss& loss : capture.losses) {
    EXPECT_EQ(loss.source, Source::store);
    counts[loss.kind] += loss.count;
  }
  EXPECT_EQ(counts, (std::map<LossKind, uint64_t>{
                        {LossKind::bad_time, 3}, {LossKind::unjoined, 1}, {LossKind::unknown_record, 3}}));
}

TEST_F(RoundTrip, DefinitionsMayComeOutOfOrderAndTwice) {
  Process process;
  process.id = {2};
  process.pid = 30;
  sink_->on(process);
  process.id = {0};
  process.pid = 10;
  sink_->on(process);
  process.pid = 11;
  process.exit_code = 9;
  sink_->on(process);
  const Capture capture = finish_and_read();
  ASSERT_EQ(capture.processes.size(), 3u);
  EXPECT_EQ(capture.processes[0].pid, 11);
  EXPECT_EQ(capture.processes[0].exit_code, 9);
  EXPECT_EQ(capture.processes[1].pid, 0);  // never came: an empty row keeps the ids dense
  EXPECT_EQ(capture.processes[2].pid, 30);
}

TEST_F(RoundTrip, AnnotateAddsAndReplacesFacts) {
  sink_->on(Meta{"tier", "full"});
  sink_->on(Meta{"complete", "1"});  // only finish() says so
  ASSERT_TRUE(sink_->finish());
  ASSERT_TRUE(annotate(path_, {{"experiment.arm", "candidate"}, {"tier", "device"}}));
  auto capture = read_capture(path_);
  ASSERT_TRUE(capture) << capture.error().message();
  EXPECT_TRUE(capture->complete);
  EXPECT_EQ(capture->fact("experiment.arm"), "candidate");
  EXPECT_EQ(capture->fact("tier"), "device");
  EXPECT_EQ(capture->fact("absent"), "");
}

TEST_F(RoundTrip, UnfinishedIsReadAndMarked) {
  sink_->on(Process{});
  ASSERT_TRUE(sink_->commit());
  Process second;
  second.id = {1};
  sink_->on(second);  // not committed
  auto capture = read_capture(path_);  // while the recorder is still at it
  ASSERT_TRUE(capture) << capture.error().message();
  EXPECT_FALSE(capture->complete);
  EXPECT_EQ(capture->processes.size(), 1u);
  auto annotated = annotate(path_, {{"a", "b"}});
  ASSERT_FALSE(annotated);
  EXPECT_EQ(annotated.error().kind, ErrorKind::bad_input);
  const Capture whole = finish_and_read();
  EXPECT_TRUE(whole.complete);
  EXPECT_EQ(whole.processes.size(), 2u);
}

}  // namespace
}  // namespace kvet::store
