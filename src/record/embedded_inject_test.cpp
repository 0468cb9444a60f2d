#include "record/embedded_inject.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace kvet::record {
namespace {

TEST(EmbeddedInject, IsTheLibraryThatLiesBesideTheProgram) {
  std::ifstream file(KVET_BINARY_DIR "/bin/libkvet_inject.so", std::ios::binary);
  const std::string built{std::istreambuf_iterator<char>(file), {}};
  ASSERT_GT(built.size(), 1000u);
  const auto embedded = embedded_inject_library();
  ASSERT_EQ(embedded.size(), built.size());
  EXPECT_EQ(memcmp(embedded.data(), built.data(), built.size()), 0);
}

}  // namespace
}  // namespace kvet::record
