// What the recorder hears.
#include "record/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace kvet::record {
namespace {

TEST(Signals, ThoseOfATerminalAreRead) {
  Signals signals;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    raise(number);
    EXPECT_EQ(signals.next(), number);
    EXPECT_EQ(signals.next(), std::nullopt);
  }
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
