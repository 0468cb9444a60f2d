#include "export/spans.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace kvet::exporting {
namespace {

using SpanId = std::array<uint8_t, 8>;

class Spans : public ::testing::Test {
 protected:
  void SetUp() override {
    capture_.strings = {"", "k"};
    capture_.processes.resize(2);
    capture_.processes[1].id = {1};
    capture_.devices.resize(1);
    capture_.shapes.resize(1);
    capture_.shapes[0].name = {1};
    source_.capture = &capture_;
    source_.label = [](std::string_view raw) { return std::string{raw}; };
  }
  void launch(uint32_t correlation_id, int64_t at, uint32_t process = 0) {
    ApiCall call;
    call.process = {process};
    call.correlation_id = correlation_id;
    call.start_ns = at;
    call.end_ns = at + 5;
    capture_.api_calls.push_back(call);
  }
  void execute(uint32_t correlation_id, int64_t at, uint32_t process = 0) {
    Execution execution;
    execution.process = {process};
    execution.correlation_id = correlation_id;
    execution.start_ns = at;
    execution.end_ns = at + 50;
    capture_.executions.push_back(execution);
  }
  std::vector<Span> all() {
    std::vector<Span> spans;
    for_each_span(source_, [&](const Span& span) {
      spans.push_back(span);
      return true;
    });
    return spans;
  }

  Capture capture_;
  SpansSource source_;
};

std::vector<Span> named(const std::vector<Span>& spans, std::string_view name) {
  std::vector<Span> out;
  for (const Span& span : spans) {
    if (span.name == name) {
      out.push_back(span);
    }
  }
  return out;
}

// Planted: steps of host time at [0, 100) and [100, 200); a launch in each and one behind; the second's work runs late.
TEST_F(Spans, StepHoldsLaunchHoldsExecution) {
  source_.steps = {{{0, {{0, 100}, {100, 200}}}}, true};
  launch(1, 10);
  launch(2, 110);
  launch(3, 500);
  execute(1, 30);
  execute(2, 250);  // its launch's step, though that is over
  execute(3, 520);
  const auto spans = all();
  const auto steps = named(spans, "step"), outside = named(spans, "outside steps"),
             launches = named(spans, "launch_kernel"), executions = named(spans, "k");
  ASSERT_EQ(steps.size(), 2u);
  ASSERT_EQ(outside.size(), 1u);
  ASSERT_EQ(launches.size(), 3u);
  ASSERT_EQ(executions.size(), 3u);
  const std::array<const Span*, 3> roots{&steps[0], &steps[1], &outside[0]};
  for (size_t index = 0; index < 3; ++index) {
    EXPECT_FALSE(roots[index]->parent);
    EXPECT_EQ(launches[index].parent, roots[index]->span_id);
    EXPECT_EQ(executions[index].parent, launches[index].span_id);
    EXPECT_EQ(launches[index].trace_id, roots[index]->trace_id);
    EXPECT_EQ(executions[index].trace_id, roots[index]->trace_id);
  }
  EXPECT_EQ(steps[1].start_ns, 100);
  EXPECT_EQ(steps[1].end_ns, 200);
}

// Steps by what the device did: a launch belongs where its work ran.
TEST_F(Spans, StepsOfDeviceTimeTakeLaunchesByTheirWork) {
  source_.steps = {{{0, {{1000, 2000}}}}, false};
  launch(1, 10);
  execute(1, 1500);
  const auto spans = all();
  EXPECT_EQ(named(spans, "launch_kernel")[0].parent, named(spans, "step")[0].span_id);
}

TEST_F(Spans, CorrelationIdsAreTheProcesss) {
  launch(7, 10, 0);
  launch(7, 10, 1);
  execute(7, 100, 1);
  execute(0, 200, 0);  // 0 is unknown, and joins nothing
  const auto spans = all();
  const auto launches = named(spans, "launch_kernel"), executions = named(spans, "k"),
             roots = named(spans, "outside steps");
  EXPECT_EQ(executions[0].parent, launches[1].span_id);
  EXPECT_EQ(executions[1].parent, roots[0].span_id);
  EXPECT_NE(launches[0].trace_id, launches[1].trace_id);
}

TEST_F(Spans, IdsAreDeterministicAndDifferent) {
  for (uint32_t index = 0; index < 1000; ++index) {
    launch(index, index);
    execute(index, index);
  }
  const auto first = all(), second = all();
  std::set<SpanId> ids;
  for (size_t index = 0; index < first.size(); ++index) {
    EXPECT_EQ(first[index].span_id, second[index].span_id);
    ids.insert(first[index].span_id);
  }
  EXPECT_EQ(ids.size(), first.size());
  EXPECT_FALSE(ids.contains(SpanId{}));
  capture_.meta["boot_id"] = "another recording";
  EXPECT_NE(all()[0].span_id, first[0].span_id);
}

TEST_F(Spans, EndsWhenNobodyTakesMore) {
  launch(1, 10);
  launch(2, 20);
  int taken = 0;
  for_each_span(source_, [&](const Span&) { return ++taken < 2; });
  EXPECT_EQ(taken, 2);
}

TEST_F(Spans, FailuresAndCollectivesAreThere) {
  launch(1, 10);
  capture_.api_calls[0].result = 700;
  CollectiveCall call;
  call.kind = CollectiveKind::all_gather;
  call.count = ~uint64_t{0};
  call.start_ns = 40;
  call.end_ns = 30;  // a file may say so
  capture_.collective_calls.push_back(call);
  const auto spans = all();
  EXPECT_EQ(named(spans, "launch_kernel")[0].failed, 700);
  const Span gather = named(spans, "all_gather")[0];
  EXPECT_GE(gather.end_ns, gather.start_ns);
  EXPECT_EQ(gather.parent, named(spans, "outside steps")[0].span_id);
}

}  // namespace
}  // namespace kvet::exporting
