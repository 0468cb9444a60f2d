// Linked as a portable program is: unwinding and randomness must work through our own stand-ins.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

extern "C" uint32_t arc4random() noexcept;

namespace {

int throwing_order(const void*, const void*) { throw std::runtime_error("from inside qsort"); }

TEST(GlibcFloor, ExceptionsPassThroughOurOwnFrames) {
  std::string seen;
  try {
    try {
      throw std::out_of_range("inner");
    } catch (const std::logic_error& problem) {
      seen = problem.what();
      throw;
    }
  } catch (const std::exception& problem) {
    seen += " again: ";
    seen += problem.what();
  }
  EXPECT_EQ(seen, "inner again: inner");
}

// The frames of qsort lie in libc.so: its table must be found too.
TEST(GlibcFloor, ExceptionsPassThroughAnotherObject) {
  int values[] = {2, 1};
  EXPECT_THROW(qsort(values, 2, sizeof values[0], throwing_order), std::runtime_error);
}

TEST(GlibcFloor, FindsTheObjectOfAnAddress) {
  dl_find_object own{}, other{}, none{};
  ASSERT_EQ(_dl_find_object(reinterpret_cast<void*>(throwing_order), &own), 0);
  ASSERT_EQ(_dl_find_object(reinterpret_cast<void*>(getenv), &other), 0);
  Dl_info expected{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(getenv), &expected), 0);
  EXPECT_EQ(other.dlfo_map_start, expected.dli_fbase);
  EXPECT_NE(own.dlfo_map_start, other.dlfo_map_start);
  EXPECT_NE(other.dlfo_eh_frame, nullptr);
  int on_the_stack = 0;
  EXPECT_EQ(_dl_find_object(&on_the_stack, &none), -1);
  EXPECT_EQ(_dl_find_object(nullptr, &none), -1);
}

// The definition in use is ours, not a newer glibc's: it lies in this program.
TEST(GlibcFloor, IsInUse) {
  dl_find_object function{}, own{};
  ASSERT_EQ(_dl_find_object(reinterpret_cast<void*>(arc4random), &function), 0);
  ASSERT_EQ(_dl_find_object(reinterpret_cast<void*>(throwing_order), &own), 0);
  EXPECT_EQ(function.dlfo_map_start, own.dlfo_map_start);
}

TEST(GlibcFloor, RandomNumbersDiffer) {
  std::set<uint32_t> seen;
  std::random_device device;
  for (int index = 0; index < 32; ++index) {
    seen.insert(arc4random());
    seen.insert(device());
  }
  // Two equal ones among 64 of 2^32 happen once in two million runs; five never.
  EXPECT_GE(seen.size(), 60U);
}

}  // namespace
