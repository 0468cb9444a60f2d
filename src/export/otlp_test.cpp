// Bodies read back field by field, with the numbers of the protocol's files written down once more.
#include "export/otlp.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace kvet::exporting {
namespace {

// A protobuf message as its wire format has it (protobuf.dev/programming-guides/encoding): texts and messages by field, and the
// numbers of the other fields. A second reader, so that the library that writes is not held against itself.
struct Message {
  std::multimap<uint32_t, std::string> parts;
  std::multimap<uint32_t, uint64_t> numbers;

  explicit Message(std::string_view bytes) {
    const auto varint = [&] {
      uint64_t value = 0;
      for (int shift = 0; !bytes.empty() && shift < 64; shift += 7) {
        const auto byte = static_cast<uint8_t>(bytes.front());
        bytes.remove_prefix(1);
        value |= uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) {
          break;
        }
      }
      return value;
    };
    while (!bytes.empty()) {
      const uint64_t tag = varint();
      const auto field = static_cast<uint32_t>(tag >> 3);
      if ((tag & 7) == 0) {
        numbers.emplace(field, varint());
      } else if ((tag & 7) == 1 && bytes.size() >= 8) {
        uint64_t value = 0;
        for (size_t index = 8; index-- > 0;) {
          value = value << 8 | static_cast<uint8_t>(bytes[index]);
        }
        numbers.emplace(field, value);
        bytes.remove_prefix(8);
      } else if ((tag & 7) == 2) {
        const uint64_t length = varint();
        if (length > bytes.size()) {
          ADD_FAILURE() << "a field ends behind its message";
          return;
        }
        parts.emplace(field, bytes.substr(0, length));
        bytes.remove_prefix(length);
      } else {
        ADD_FAILURE() << "no such wire type";
        return;
      }
    }
  }
  [[nodiscard]] const std::string& part(uint32_t field) const {
    static const std::string absent = "absent";
    const auto found = parts.find(field);
    return found == parts.end() ? absent : found->second;
  }
  [[nodiscard]] uint64_t number(uint32_t field) const {
    const auto found = numbers.find(field);
    return found == numbers.end() ? 0 : found->second;
  }
};

// The metrics or spans of a request: ResourceMetrics (1) → ScopeMetrics (2) → Metric (2).
std::vector<std::string> items_of(const std::string& body) {
  std::vector<std::string> items;
  const Message request(body);
  for (auto [resource, resource_end] = request.parts.equal_range(1); resource != resource_end; ++resource) {
    const Message of_resource(resource->second);
    for (auto [scope, scope_end] = of_resource.parts.equal_range(2); scope != scope_end; ++scope) {
      const Message of_scope(scope->second);
      for (auto [item, end] = of_scope.parts.equal_range(2); item != end; ++item) {
        items.push_back(item->second);
      }
    }
  }
  return items;
}

class Otlp : public ::testing::Test {
 protected:
  void SetUp() override {
    capture_.strings = {"", "k", "python3"};
    capture_.processes.resize(1);
    capture_.processes[0].name = {2};
    capture_.processes[0].pid = 4242;
    capture_.devices.resize(1);
    capture_.shapes.resize(1);
    capture_.shapes[0].name = {1};
    capture_.meta = {{"clock.monotonic_ns", "1000"},
                     {"clock.realtime_ns", "1700000000000001000"},
                     {"record.start_ns", "5000"},
                     {"record.end_ns", "9000"}};
  }
  TakeBody keep() {
    return [this](std::string_view body, size_t items) -> Result<void> {
      bodies_.emplace_back(body);
      counts_.push_back(items);
      return {};
    };
  }
  Result<void> spans() {
    const WallClock clock(capture_);
    return write_otlp_spans({&capture_, &clock, "1.2"},
                            {&capture_, {}, [](std::string_view raw) { return std::string{raw}; }}, keep());
  }
  Result<void> metrics(const std::vector<Metric>& all) {
    const WallClock clock(capture_);
    return write_otlp_metrics({&capture_, &clock, "1.2"}, all, keep());
  }
  Capture capture_;
  std::vector<std::string> bodies_;
  std::vector<size_t> counts_;
};

Metric metric(MetricKind kind, std::vector<Point> points) {
  return {"a.b", "a_b", "s", "What it is.", kind, Vocabulary::opentelemetry, std::move(points)};
}

TEST_F(Otlp, WritesGaugesAndSums) {
  Metric dcgm = metric(MetricKind::gauge, {{{}, 1, {}}});
  dcgm.vocabulary = Vocabulary::dcgm;
  ASSERT_TRUE(metrics(
      {metric(MetricKind::gauge, {{{{"x", "y"}}, 1.5, 7000}}), metric(MetricKind::counter, {{{}, 3, {}}}), dcgm}));
  ASSERT_EQ(bodies_.size(), 1u);
  const auto items = items_of(bodies_[0]);
  ASSERT_EQ(items.size(), 2u);  // DCGM's names are Prometheus'
  const Message gauge(items[0]);
  EXPECT_EQ(gauge.part(1), "a.b");
  EXPECT_EQ(gauge.part(2), "What it is.");
  EXPECT_EQ(gauge.part(3), "s");
  const Message point(Message(gauge.part(5)).part(1));
  EXPECT_EQ(point.number(3), 1'700'000'000'000'007'000u);
  EXPECT_EQ(point.number(4), 0x3ff8'0000'0000'0000u);  // 1.5 in IEEE 754
  const Message pair(point.part(7));
  EXPECT_EQ(pair.part(1), "x");
  EXPECT_EQ(Message(pair.part(2)).part(1), "y");
  const Message sum(Message(items[1]).part(7));
  EXPECT_EQ(sum.number(2), 2u);  // cumulative
  EXPECT_EQ(sum.number(3), 1u);  // monotonic
  const Message total(sum.part(1));
  EXPECT_EQ(total.number(2), 1'700'000'000'000'005'000u);  // since the recording began
  EXPECT_EQ(total.number(3), 1'700'000'000'000'009'000u);
}

TEST_F(Otlp, RequestsAreBounded) {
  std::vector<Point> points(2500);
  for (size_t index = 0; index < points.size(); ++index) {
    points[index].time_ns = static_cast<int64_t>(index);
  }
  ASSERT_TRUE(metrics({metric(MetricKind::gauge, points), metric(MetricKind::counter, {{{}, 1, {}}})}));
  const std::vector<size_t> expected{1000, 1000, 501};
  EXPECT_EQ(counts_, expected);
  size_t there = 0;
  for (const std::string& body : bodies_) {
    for (const std::string& item : items_of(body)) {
      const Message of(item);
      there += Message(of.parts.contains(5) ? of.part(5) : of.part(7)).parts.count(1);
    }
  }
  EXPECT_EQ(there, 2501u);
}

TEST_F(Otlp, AnErrorEndsTheWriting) {
  std::vector<Point> points(3000);
  const WallClock clock(capture_);
  int taken = 0;
  const auto written = write_otlp_metrics({&capture_, &clock, ""}, {metric(MetricKind::gauge, points)},
                                          [&](std::string_view, size_t) -> Result<void> {
                                            return ++taken < 2 ? Result<void>{} : fail(ErrorKind::unavailable, "busy");
                                          });
  EXPECT_FALSE(written);
  EXPECT_EQ(taken, 2);
}

TEST_F(Otlp, SpansHaveTheirProcesssResource) {
  ApiCall call;
  call.correlation_id = 1;
  call.start_ns = 6000;
  call.end_ns = 6500;
  call.result = 700;
  capture_.api_calls = {call};
  ASSERT_TRUE(spans());
  const Message of_resource(Message(bodies_[0]).part(1));
  std::map<std::string, Message> resource;
  const Message attributes(of_resource.part(1));
  for (auto [pair, end] = attributes.parts.equal_range(1); pair != end; ++pair) {
    const Message both(pair->second);
    resource.emplace(both.part(1), Message(both.part(2)));
  }
  EXPECT_EQ(resource.at("service.name").part(1), "python3");
  EXPECT_EQ(resource.at("process.pid").number(3), 4242u);
  EXPECT_EQ(Message(Message(resource.at("kvet.gpu.ids").part(5)).part(1)).part(1), "gpu0");
  const auto items = items_of(bodies_[0]);
  ASSERT_EQ(items.size(), 2u);
  const Message root(items[0]), launch(items[1]);
  EXPECT_EQ(launch.part(4), root.part(2));
  EXPECT_EQ(launch.part(1), root.part(1));
  EXPECT_EQ(launch.part(1).size(), 16u);
  EXPECT_EQ(launch.part(2).size(), 8u);
  EXPECT_EQ(launch.part(5), "launch_kernel");
  EXPECT_EQ(launch.number(6), 4u);  // producer
  EXPECT_EQ(launch.number(7), 1'700'000'000'000'006'000u);
  EXPECT_EQ(launch.number(8), 1'700'000'000'000'006'500u);
  EXPECT_EQ(Message(launch.part(15)).number(3), 2u);  // error
}

// protobuf's texts must be UTF-8; the rest is for whoever prints them.
TEST_F(Otlp, HostileNamesAreValidAndHarmless) {
  const std::pair<std::string, std::string> names[] = {{"<script>", "<script>"}, {"\x1b[31m", "\\x1b[31m"},
                                                       {"a\nb", "a\\nb"},        {"\"'", "\"'"},
                                                       {"\xff", "\ufffd"},       {"", "unnamed"}};
  for (const auto& [raw, expected] : names) {
    capture_.strings[1] = raw;
    capture_.executions = {Execution{}};
    bodies_.clear();
    ASSERT_TRUE(spans());
    EXPECT_EQ(Message(items_of(bodies_[0]).back()).part(5), expected);
    bodies_.clear();
    ASSERT_TRUE(metrics({metric(MetricKind::gauge, {{{{"kvet.kernel", raw}}, 1, {}}})}));
    const Message point(Message(Message(items_of(bodies_[0])[0]).part(5)).part(1));
    EXPECT_EQ(Message(Message(point.part(7)).part(2)).part(1), raw.empty() ? "" : expected);
  }
  capture_.strings[1] = std::string(100'000, 'x');
  bodies_.clear();
  ASSERT_TRUE(spans());
  EXPECT_LT(bodies_[0].size(), 2'000u);
}

TEST(WallClock, ComesFromThePairOfReadingsOrFromTheFile) {
  Capture capture;
  EXPECT_FALSE(WallClock(capture).known());
  EXPECT_EQ(WallClock(capture).unix_ns(7), 7u);
  EXPECT_EQ(WallClock(capture).unix_ns(-7), 0u);
  capture.meta["import.base_time_ns"] = "1700000000000000000";
  EXPECT_EQ(WallClock(capture).unix_ns(7), 1'700'000'000'000'000'007u);
  capture.meta["clock.monotonic_ns"] = "5";
  capture.meta["clock.realtime_ns"] = "105";
  EXPECT_EQ(WallClock(capture).unix_ns(7), 107u);
  capture.meta["clock.realtime_ns"] = "9223372036854775807";  // no reading of a clock: the file's own word is left
  EXPECT_EQ(WallClock(capture).unix_ns(7), 1'700'000'000'000'000'007u);
  capture.meta["clock.monotonic_ns"] = "-4000000000000000000";
  capture.meta["clock.realtime_ns"] = "4000000000000000000";
  EXPECT_EQ(WallClock(capture).unix_ns(100), 8'000'000'000'000'000'100u);
  EXPECT_EQ(WallClock(capture).unix_ns(4'000'000'000'000'000'000), 0u);  // a sum beyond what a time can be is no time
}

}  // namespace
}  // namespace kvet::exporting
