#include "import/byte_source.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

namespace kvet::importing {
namespace {

std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  std::vector<Bytef> in(text.begin(), text.end());
  stream.next_in = in.data();
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Result<std::string> all_of(const std::string& bytes) {
  auto source = open_memory({bytes.data(), bytes.size()}, "name");
  if (!source) {
    return std::unexpected(source.error());
  }
  std::string text;
  std::vector<char> piece(1000);
  for (;;) {
    const auto count = (*source)->read(piece);
    if (!count) {
      return std::unexpected(count.error());
    }
    if (*count == 0) {
      return text;
    }
    text.append(piece.data(), *count);
  }
}

std::string sample() {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += std::to_string(i * 7919) + ",";
  }
  return text;
}

TEST(ByteSource, PlainAndGzipGiveTheSameBytes) {
  const std::string text = sample();
  EXPECT_EQ(all_of(text), text);
  EXPECT_EQ(all_of(gzip(text)), text);
  EXPECT_EQ(all_of(gzip(text) + gzip("second member")), text + "second member");
  EXPECT_EQ(all_of(gzip("")), "");
}

TEST(ByteSource, GzipCutShortAnywhereIsRefused) {
  const std::string whole = gzip(sample());
  for (size_t length = 3; length < whole.size(); length += whole.size() / 50) {
    const auto read = all_of(whole.substr(0, length));
    ASSERT_FALSE(read) << length;
    EXPECT_EQ(read.error().kind, ErrorKind::bad_input);
    EXPECT_NE(read.error().what.find("cut short at its byte " + std::to_string(length)), std::string::npos)
        << read.error().what;
  }
}

TEST(ByteSource, DamagedGzipAndWhatFollowsItAreRefused) {
  std::string damaged = gzip(sample());
  damaged[damaged.size() - 6] ^= 1;  // in the checksum
  EXPECT_FALSE(all_of(damaged));
  EXPECT_FALSE(all_of(gzip(sample()) + "garbage"));
}

TEST(ByteSource, AMissingFileIsNamed) {
  const auto source = open_bytes("/nowhere/at/all.json");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().subject, "/nowhere/at/all.json");
}

}  // namespace
}  // namespace kvet::importing
