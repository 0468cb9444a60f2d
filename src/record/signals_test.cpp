// What the recorder hears.
#include "record/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace kvet::record {
namespace {

TEST(Signals, AreReadAndEndNobody) {
  Signals signals;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ}) {
    raise(number);
    EXPECT_EQ(signals.next(), number);
    EXPECT_EQ(signals.next(), std::nullopt);
  }
}

TEST(Signals, OneThatNobodyReadEndsNobodyLater) {
  const Signals signals;
  raise(SIGINT);
}

// nohup kvet record -- CMD: that the terminal goes neither stops the recording nor reaches the command.
TEST(Signals, AnIgnoredHangUpIsNotRead) {
  const auto before = signal(SIGHUP, SIG_IGN);
  {
    Signals signals;
    raise(SIGHUP);
    EXPECT_EQ(signals.next(), std::nullopt);
    raise(SIGTERM);
    EXPECT_EQ(signals.next(), SIGTERM);
  }
  signal(SIGHUP, before);
}

}  // namespace
}  // namespace kvet::record
