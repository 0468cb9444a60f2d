#include "inject/reader_watch.h"

#include <gtest/gtest.h>

namespace kvet::inject {
namespace {

constexpr uint64_t second = 1'000'000'000, patience = 30 * second, most = second;

TEST(ReaderWatch, AReaderIsGoneAfterThePatienceAndNotBefore) {
  ReaderWatch watch;
  uint64_t now = second;
  EXPECT_FALSE(watch.is_gone(true, now, patience, most));
  for (int tick = 1; tick < 300; ++tick) {
    EXPECT_FALSE(watch.is_gone(false, now += second / 10, patience, most)) << tick;
  }
  EXPECT_TRUE(watch.is_gone(false, now += second / 10, patience, most));
}

TEST(ReaderWatch, AReaderThatComesBackBeginsAnew) {
  ReaderWatch watch;
  uint64_t now = second;
  for (int tick = 0; tick < 1'000; ++tick) {
    EXPECT_FALSE(watch.is_gone(tick % 25 == 0, now += second, patience, most)) << tick;
  }
}

TEST(ReaderWatch, TimeInWhichNothingRanDoesNotCount) {
  ReaderWatch watch;
  EXPECT_FALSE(watch.is_gone(true, second, patience, most));
  EXPECT_FALSE(watch.is_gone(false, 3600 * second, patience, most)) << "an hour stopped";
  EXPECT_FALSE(watch.is_gone(true, 3601 * second, patience, most));
}

}  // namespace
}  // namespace kvet::inject
