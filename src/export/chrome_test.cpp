#include "export/chrome.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace kvet::exporting {
namespace {

TEST(JsonString, NothingEndsItEarly) {
  EXPECT_EQ(json_string("plain"), "\"plain\"");
  EXPECT_EQ(json_string("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(json_string("</script>"), "\"\\u003c/script>\"");
  EXPECT_EQ(json_string("two\nlines\x1b[31m"), "\"two\\\\nlines\\\\x1b[31m\"");
  EXPECT_EQ(json_string("bad \xff\xed\xa0\x80"), "\"bad \ufffd\ufffd\ufffd\ufffd\"");
  EXPECT_EQ(json_string(std::string_view("\0", 1)), "\"\\\\x00\"");
}

// The whole document, written by hand after the Trace Event Format.
TEST(ChromeWriter, ASmallTimelineWordForWord) {
  const std::string path = testing::TempDir() + "kvet_chrome_" + std::to_string(::getpid());
  auto output = OutputFile::create(path);
  ASSERT_TRUE(output);
  ChromeWriter writer(*output);
  writer.begin({1'000, 9'000'000'000, true, std::nullopt}, {{"tier", "full"}});
  TimelineTrack process;
  process.name = "app";
  process.pid = 42;
  writer.on(process);
  TimelineTrack stream;
  stream.id = TrackId{1};
  stream.parent = TrackId{0};
  stream.kind = TrackKind::stream;
  stream.name = "Stream 7";
  stream.lane = 1;
  writer.on(stream);
  TimelineTrack counter;
  counter.id = TrackId{2};
  counter.parent = TrackId{0};
  counter.kind = TrackKind::counter;
  counter.name = "Power";
  counter.unit = "W";
  writer.on(counter);
  const TimelineName kernel{{5}, "scale<int>"}, grid{{6}, "8 x 1 x 1"};
  const TimelineArgument arguments[] = {
      {"grid", &grid}, {"bytes", uint64_t{18446744073709551615U}}, {"result", int64_t{-1}}};
  const uint64_t flows[] = {3};
  writer.on(TimelineSlice{TrackId{1}, 1'001, 8'000'002'000, &kernel, "kernel", arguments, flows, 2});
  writer.on(TimelineCounter{TrackId{2}, 2'000, 0.5});
  writer.finish();
  ASSERT_TRUE(output->finish());
  std::ostringstream written;
  written << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  // clang-format off
  const std::string expected =
      "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"kvet\",\"clock\":\"CLOCK_MONOTONIC\",\"start_ns\":\"1000\","
      "\"capture.tier\":\"full\"},\"traceEvents\":[\n"
      "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"app 42\"}},\n"
      "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":0}},\n"
      "{\"ph\":\"M\",\"pid\":1,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"Stream 7 (2)\"}},\n"
      "{\"ph\":\"M\",\"pid\":1,\"tid\":2,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":1}},\n"
      "{\"ph\":\"M\",\"pid\":1,\"tid\":3,\"name\":\"thread_name\",\"args\":{\"name\":\"Power\"}},\n"
      "{\"ph\":\"M\",\"pid\":1,\"tid\":3,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":2}},\n"
      "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":0.001,\"dur\":8000000.999,\"name\":\"scale\\u003cint>\",\"cat\":\"kernel\","
      "\"args\":{\"grid\":\"8 x 1 x 1\",\"bytes\":18446744073709551615,\"result\":-1}},\n"
      "{\"ph\":\"s\",\"pid\":1,\"tid\":2,\"ts\":0.001,\"name\":\"launch\",\"cat\":\"launch\",\"id\":3},\n"
      "{\"ph\":\"f\",\"pid\":1,\"tid\":2,\"ts\":0.001,\"name\":\"launch\",\"cat\":\"launch\",\"id\":2,\"bp\":\"e\"},\n"
      "{\"ph\":\"C\",\"pid\":1,\"tid\":3,\"ts\":1.000,\"name\":\"Power\",\"args\":{\"W\":0.5}}\n"
      "]}\n";
  // clang-format on
  EXPECT_EQ(written.str(), expected);
}

}  // namespace
}  // namespace kvet::exporting
