#include "base/result.h"

#include <gtest/gtest.h>

namespace kvet {
namespace {

TEST(Error, MessageIsOneLineWhateverItsPartsHold) {
  EXPECT_EQ((Error{ErrorKind::usage, "what", "subject", "advice"}).message(), "subject: what. advice");
  EXPECT_EQ((Error{ErrorKind::usage, "what", "", ""}).message(), "what");
  EXPECT_EQ((Error{ErrorKind::bad_input, "no\nsuch\tfile", "a\r\nb\033[2J.kvet", "try\n"}).message(),
            "a\\x0d\\x0ab\\x1b[2J.kvet: no\\x0asuch\\x09file. try\\x0a");
}

}  // namespace
}  // namespace kvet
