// For tests: a TimelineSink that keeps what it is told, and holds the order that model/timeline.h promises.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/timeline.h"
#include "questions/tracks.h"

namespace kvet::questions {

struct ToldSlice {
  TrackId track;
  int64_t start_ns, end_ns;
  std::string name, category;
  std::map<std::string, std::string> arguments;
  std::vector<uint64_t> starts_flows;
  std::optional<uint64_t> ends_flow;
};

class ToldTimeline final : public TimelineSink {
 public:
  TimelineClock clock;
  std::vector<TimelineTrack> tracks;
  std::vector<ToldSlice> slices;
  std::vector<TimelineCounter> counters;

  explicit ToldTimeline(const Capture& capture) { tell_timeline(capture, *this); }

  void begin(const TimelineClock& told, const std::vector<std::pair<std::string, std::string>>&) override {
    EXPECT_EQ(begun_++, 0);
    clock = told;
  }
  void on(const TimelineTrack& track) override {
    EXPECT_EQ(track.id.value, tracks.size());
    EXPECT_TRUE(!track.parent || track.parent->value < track.id.value);
    tracks.push_back(track);
  }
  void on(const TimelineSlice& slice) override {
    ASSERT_LT(slice.track.value, tracks.size());
    EXPECT_LE(slice.start_ns, slice.end_ns);
    EXPECT_GE(slice.start_ns, clock.first_ns);
    EXPECT_LE(slice.end_ns, clock.last_ns);
    auto& last = last_start_[slice.track.value];
    EXPECT_TRUE(!last || *last <= slice.start_ns) << tracks[slice.track.value].name;
    last = slice.start_ns;
    ToldSlice told{slice.track, slice.start_ns, slice.end_ns, slice.name->text, slice.category, {},
                   {},          slice.ends_flow};
    told.starts_flows.assign(slice.starts_flows.begin(), slice.starts_flows.end());
    for (const TimelineArgument& argument : slice.arguments) {
      const auto* text = std::get_if<const TimelineName*>(&argument.value);
      const auto* number = std::get_if<int64_t>(&argument.value);
      const auto* natural = std::get_if<uint64_t>(&argument.value);
      told.arguments[argument.name] = text != nullptr      ? (*text)->text
                                      : number != nullptr  ? std::to_string(*number)
                                      : natural != nullptr ? std::to_string(*natural)
                                                           : "?";
    }
    slices.push_back(std::move(told));
  }
  void on(const TimelineCounter& counter) override { counters.push_back(counter); }

  [[nodiscard]] const TimelineTrack& track(const ToldSlice& slice) const { return tracks[slice.track.value]; }
  [[nodiscard]] std::vector<ToldSlice> of(TrackKind kind) const {
    std::vector<ToldSlice> found;
    for (const ToldSlice& slice : slices) {
      if (track(slice).kind == kind) {
        found.push_back(slice);
      }
    }
    return found;
  }
  [[nodiscard]] std::vector<TimelineCounter> counter(std::string_view name) const {
    std::vector<TimelineCounter> found;
    for (const TimelineCounter& value : counters) {
      if (tracks[value.track.value].name == name) {
        found.push_back(value);
      }
    }
    return found;
  }

 private:
  int begun_ = 0;
  std::map<uint32_t, std::optional<int64_t>> last_start_;
};

}  // namespace kvet::questions
