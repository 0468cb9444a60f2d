// Several ranks into one capture: which belong together, and on which clock.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <tuple>

#include "import/kineto.h"
#include "import/kineto_collectives.h"
#include "import/recording_sink.h"

namespace kvet::importing {
namespace {

// A kernel from ts to ts + 1000 µs, on device 0 of pid 500.
std::string rank(int number, int of, const std::string& ts, const std::string& base) {
  return fmt::format(
      R"({{"traceEvents": [{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":1000,"args":{{"device":0,"stream":7}}}},
         {{"ph":"X","cat":"user_annotation","name":"step","pid":500,"tid":500,"ts":{},"dur":1}}],
         "distributedInfo": {{"rank": {}, "world_size": {}}}{}}})",
      ts, ts, number, of, base.empty() ? "" : ", \"baseTimeNanoseconds\": " + base);
}

Result<void> import_ranks(const std::vector<std::string>& texts, EventSink& sink) {
  std::vector<KinetoInput> inputs;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string name = fmt::format("rank{}.json", i);
    const std::string& text = texts[i];
    inputs.push_back({name, [&text, name] { return open_memory({text.data(), text.size()}, name); }});
  }
  return import_traces(inputs, sink);
}

TEST(KinetoRanks, AreApartInProcessesAndDevices) {
  RecordingSink sink;
  ASSERT_TRUE(import_ranks({rank(0, 2, "100", "5000"), rank(1, 2, "200", "5000")}, sink));
  ASSERT_EQ(sink.executions.size(), 2u);
  EXPECT_NE(sink.executions[0].process, sink.executions[1].process);  // the same pid on two hosts, perhaps
  EXPECT_NE(sink.executions[0].device, sink.executions[1].device);    // CUDA_VISIBLE_DEVICES numbers from 0 in each
  EXPECT_EQ(sink.executions[0].start_ns, 100'000);
  EXPECT_EQ(sink.executions[1].start_ns, 200'000);
  EXPECT_EQ(sink.meta.at("import.base_time_ns"), "5000");
  EXPECT_EQ(sink.meta.at("import.ranks"), "0, 1");
  EXPECT_EQ(sink.meta.at("import.files"), "rank0.json\nrank1.json");
}

TEST(KinetoRanks, BasesThatDifferAreTakenIntoAccountExactly) {
  RecordingSink sink;
  ASSERT_TRUE(
      import_ranks({rank(0, 2, "100.001", "1711964646000000000"), rank(1, 2, "50", "1711964646000050007")}, sink));
  EXPECT_EQ(sink.executions.at(0).start_ns, 100'001);
  EXPECT_EQ(sink.executions.at(1).start_ns, 50'000 + 50'007);
}

TEST(KinetoRanks, WithoutBasesTimesAreUnixTimeWhereTheyCanBe) {
  RecordingSink dated, undated;
  ASSERT_TRUE(import_ranks({rank(0, 2, "1711964646000100", ""), rank(1, 2, "1711964646000123", "")}, dated));
  EXPECT_EQ(dated.meta.at("import.base_time_ns"), "0");
  EXPECT_EQ(dated.executions.at(0).start_ns, 1'711'964'646'000'100'000);
  ASSERT_TRUE(import_ranks({rank(0, 2, "100", ""), rank(1, 2, "200", "")}, undated));
  EXPECT_FALSE(undated.meta.contains("import.base_time_ns"));
}

TEST(KinetoRanks, WithoutACommonClockTheFirstEventsAreAligned) {
  RecordingSink sink;
  ASSERT_TRUE(import_ranks({rank(0, 2, "100", "1711964646000000000"), rank(1, 2, "1711964646000123", "")}, sink));
  EXPECT_EQ(sink.executions.at(0).start_ns, 0);
  EXPECT_EQ(sink.executions.at(1).start_ns, 0);
  EXPECT_NE(sink.meta.at("import.clock").find("first event is at 0"), std::string::npos);
}

TEST(KinetoRanks, ClocksThatDisagreeAreRefused) {
  RecordingSink sink;
  const auto done = import_ranks({rank(0, 2, "100", "5000"), rank(1, 2, "3000100", "5000")}, sink);
  ASSERT_FALSE(done);
  // 3,000,100 µs − 1,100 µs, the end of the other.
  EXPECT_NE(done.error().what.find("begins 2.999 s after rank0.json ends"), std::string::npos) << done.error().what;
  EXPECT_EQ(done.error().subject, "rank1.json");
  EXPECT_TRUE(sink.executions.empty());
}

TEST(KinetoRanks, TwoFilesOfOneRankAreRefused) {
  RecordingSink sink;
  const auto done = import_ranks({rank(1, 2, "100", ""), rank(1, 2, "100", "")}, sink);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, "is of rank 1, and so is rank0.json");
}

TEST(KinetoRanks, JobsOfDifferentSizesAreRefused) {
  RecordingSink sink;
  const auto done = import_ranks({rank(0, 2, "100", ""), rank(1, 8, "100", "")}, sink);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().what.find("8 ranks"), std::string::npos);
}

TEST(KinetoRanks, RanksThatCannotBeAreRefused) {
  for (const auto& [number, of, why] : {std::tuple{5, 2, "rank 5 of a world of 2"},
                                        {-5, 2, "rank -5"},
                                        {2, 2, "rank 2 of a world of 2"},
                                        {0, 0, "world of 0"}}) {
    RecordingSink sink;
    const auto done = import_ranks({rank(number, of, "100", "")}, sink);
    ASSERT_FALSE(done) << why;
    EXPECT_NE(done.error().what.find(why), std::string::npos) << done.error().what;
    EXPECT_EQ(done.error().subject, "rank0.json");
    EXPECT_FALSE(done.error().advice.empty());
  }
}

TEST(KinetoRanks, PlaceInAGroup) {
  EXPECT_EQ(place_in("[0, 1]", 1), 1);
  EXPECT_EQ(place_in("[4, 6, 12]", 12), 2);
  EXPECT_EQ(place_in("[4, 6]", 5), std::nullopt);
  EXPECT_EQ(place_in("[0, 2, ...]", 2), 1);
  EXPECT_EQ(place_in("[0, 2, ..., 30]", 30), std::nullopt);  // its place is not told
  EXPECT_EQ(place_in("", 0), std::nullopt);
}

}  // namespace
}  // namespace kvet::importing
