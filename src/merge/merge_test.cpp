// What becomes of the facts of captures that are merged, and of captures that must not be.
#include "merge/merge.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace kvet::merge {
namespace {

// Keeps facts; nothing else is looked at here.
class Facts final : public EventSink {
 public:
  std::map<std::string, std::string> of;
  StringId intern(std::string_view) override { return {}; }
  void on(const Process&) override {}
  void on(const Device&) override {}
  void on(const KernelShape&) override {}
  void on(const Context&) override {}
  void on(const ApiCall&) override {}
  void on(const Execution&) override {}
  void on(const Transfer&) override {}
  void on(const Range&) override {}
  void on(const OffCpu&) override {}
  void on(const CollectiveCall&) override {}
  void on(const Communicator&) override {}
  void on(const Sample&) override {}
  void on(const DeviceReading&) override {}
  void on(const Loss&) override {}
  void on(const ClockMapping&) override {}
  void on(const Meta& row) override { of[row.key] = row.value; }
};

Capture host(const char* name, const char* tier) {
  Capture capture;
  capture.path = std::string(name) + ".kvet";
  capture.complete = true;
  capture.meta = {{"hostname", name},
                  {"boot_id", name},
                  {"tier", tier},
                  {"kvet_version", "1"},
                  {"clock.monotonic_ns", "1000"},
                  {"clock.realtime_ns", "1700000000000000000"},
                  {"record.start_ns", "2000"},
                  {"record.end_ns", "9000"}};
  return capture;
}

TEST(Merge, TheClockIsTheFirstOnesAndTheTierTheLeast) {
  std::vector<Capture> captures{host("a", "full"), host("b", "device")};
  captures[1].meta["clock.realtime_ns"] = "1800000000000000000";
  const std::vector<Placed> placed{{}, {{.offset_ns = 500}, LinkedBy::collectives}};
  Facts facts;
  merge_into(captures, placed, facts);
  EXPECT_EQ(facts.of["clock.monotonic_ns"], "1000");
  EXPECT_EQ(facts.of["clock.realtime_ns"], "1700000000000000000");
  EXPECT_EQ(facts.of["merge.1.clock.realtime_ns"], "1800000000000000000");
  EXPECT_EQ(facts.of["tier"], "device");
  EXPECT_EQ(facts.of["merge.0.tier"], "full");
  EXPECT_EQ(facts.of["kvet_version"], "1");
  EXPECT_FALSE(facts.of.contains("hostname"));
  // Both were recorded from 2000 (the first; the second's 1500) to 8500 (the second's 9000).
  EXPECT_EQ(facts.of["record.start_ns"], "2000");
  EXPECT_EQ(facts.of["record.end_ns"], "8500");
}

TEST(Merge, ATimeThatIsNoneIsNotMoved) {
  std::vector<Capture> captures{host("a", "full"), host("b", "full")};
  captures[1].meta["record.end_ns"] = "9223372036854775807";
  Facts facts;
  merge_into(captures, {{}, {{.offset_ns = -500}, LinkedBy::collectives}}, facts);
  EXPECT_EQ(facts.of["record.end_ns"], "9000");
}

TEST(Merge, ClocksThatAreCenturiesApartDoNotTurnAround) {
  constexpr int64_t far = 4'000'000'000'000'000'000;
  const HostClock clock{.offset_ns = -2 * far, .from_ns = -far};
  EXPECT_EQ(clock.to_reference(far), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(difference(-far, 2 * far), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(difference(far, -far), 2 * far);
}

TEST(Place, NothingIsTakenTwice) {
  std::vector<Capture> captures{host("a", "full"), host("a", "full")};
  Process process;
  process.pid = 47;
  process.start_ns = 11;
  captures[0].processes.push_back(process);
  ASSERT_TRUE(place(captures, false));  // two recorders of one host
  captures[1].processes.push_back(process);
  const auto same_process = place(captures, false);
  ASSERT_FALSE(same_process);
  EXPECT_NE(same_process.error().message().find("process 47 is in this capture and in a.kvet"), std::string::npos);
  captures[1].processes[0].start_ns = 12;  // another, with its pid
  EXPECT_TRUE(place(captures, false));

  Communicator member;
  member.rank = 3;
  member.unique_id = StringId{1};
  for (Capture& capture : captures) {
    capture.strings = {"", "00aa"};
    capture.communicators.push_back(member);
  }
  const auto same_rank = place(captures, false);
  ASSERT_FALSE(same_rank);
  EXPECT_NE(same_rank.error().message().find("rank 3 of a communicator"), std::string::npos);
}

TEST(Place, WhatIsNotLinkedIsTakenByTheTimeOfDayWhereThatIsAsked) {
  std::vector<Capture> captures{host("a", "full"), host("b", "full")};
  captures[1].meta["clock.monotonic_ns"] = "3000";  // 2000 ahead at the same time of day
  EXPECT_FALSE(place(captures, false));
  const auto placed = place(captures, true);
  ASSERT_TRUE(placed);
  EXPECT_EQ((*placed)[1].by, LinkedBy::wall_clock);
  EXPECT_EQ((*placed)[1].clock.to_reference(3000), 1000);
  captures[1].complete = false;
  EXPECT_FALSE(place(captures, true));
}

}  // namespace
}  // namespace kvet::merge
