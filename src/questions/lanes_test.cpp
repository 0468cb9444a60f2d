#include "questions/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kvet::questions {
namespace {

TEST(Lanes, WhatComesOneAfterAnotherStaysInOne) {
  Lanes lanes(Lanes::Nesting::none);
  EXPECT_EQ(lanes.place(0, 10), 0U);
  EXPECT_EQ(lanes.place(10, 20), 0U);
  EXPECT_EQ(lanes.place(20, 20), 0U);
  EXPECT_EQ(lanes.place(20, 30), 0U);
}

TEST(Lanes, OverlapsGetTheLowestFreeLane) {
  Lanes lanes(Lanes::Nesting::none);
  EXPECT_EQ(lanes.place(0, 10), 0U);
  EXPECT_EQ(lanes.place(2, 30), 1U);  // programmatic dependent launch
  EXPECT_EQ(lanes.place(5, 6), 2U);   // inside the first, but no part of it
  EXPECT_EQ(lanes.place(10, 12), 0U);
  EXPECT_EQ(lanes.place(11, 12), 2U);
}

TEST(Lanes, CallsInsideCallsShareALane) {
  Lanes lanes(Lanes::Nesting::inside);
  EXPECT_EQ(lanes.place(0, 100), 0U);
  EXPECT_EQ(lanes.place(10, 50), 0U);
  EXPECT_EQ(lanes.place(20, 50), 0U);
  EXPECT_EQ(lanes.place(50, 100), 0U);
  EXPECT_EQ(lanes.place(90, 110), 1U);  // crosses the end of two
  EXPECT_EQ(lanes.place(100, 120), 0U);
}

// Whatever is asked for: nothing in a lane overlaps, and no more lanes are used than slices overlap at one time.
TEST(Lanes, AsManyAsOverlap) {
  std::mt19937_64 random(1);
  std::vector<std::pair<int64_t, int64_t>> slices;
  for (int index = 0; index < 2000; ++index) {
    const auto start = static_cast<int64_t>(random() % 10'000);
    slices.emplace_back(start, start + 1 + static_cast<int64_t>(random() % 200));
  }
  std::ranges::sort(slices);
  Lanes lanes(Lanes::Nesting::none);
  std::vector<int64_t> until;
  size_t used = 0, most = 0;
  for (const auto& [start, end] : slices) {
    const size_t lane = lanes.place(start, end);
    used = std::max(used, lane + 1);
    until.resize(std::max(until.size(), lane + 1), 0);
    EXPECT_GE(start, until[lane]);
    until[lane] = end;
    size_t at_once = 0;
    for (const auto& [from, to] : slices) {
      at_once += from <= start && to > start ? 1U : 0U;
    }
    most = std::max(most, at_once);
  }
  EXPECT_EQ(used, most);
}

TEST(Lanes, AHostileFileCostsNoMoreThanItsSize) {
  for (const auto nesting : {Lanes::Nesting::none, Lanes::Nesting::inside}) {
    Lanes lanes(nesting);
    constexpr int64_t count = 200'000;  // each overlaps all others, none lies inside another
    size_t last = 0;
    for (int64_t index = 0; index < count; ++index) {
      last = lanes.place(index, count + index);
    }
    EXPECT_EQ(last, static_cast<size_t>(count - 1));
  }
}

}  // namespace
}  // namespace kvet::questions
