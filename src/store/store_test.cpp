// What goes into a capture file comes out of it again, mapped and sorted.
#include <gtest/gtest.h>

#include <cstdio>

#include "store/reader.h"
#include "store/writer.h"

namespace kvet::store {
namespace {

TEST(Store, ThinRoundTrip) {
  const std::string path = testing::TempDir() + "thin.kvet";
  std::remove(path.c_str());
  auto writer = CaptureWriter::create(path);
  ASSERT_TRUE(writer) << writer.error().message();
  CaptureWriter& sink = **writer;
  Process process;
  process.name = sink.intern("python");
  sink.on(process);
  sink.on(Device{});
  KernelShape shape;
  shape.name = sink.intern("_Z4copyPf");
  sink.on(shape);
  Execution execution;
  execution.start_ns = 5000;
  execution.end_ns = 7500;
  sink.on(execution);
  execution.start_ns = 100;
  execution.end_ns = 200;
  sink.on(execution);
  ASSERT_TRUE(sink.commit());
  auto finished = sink.finish();
  ASSERT_TRUE(finished) << finished.error().message();
  auto capture = read_capture(path);
  ASSERT_TRUE(capture) << capture.error().message();
  EXPECT_TRUE(capture->complete);
  ASSERT_EQ(capture->executions.size(), 2u);
  EXPECT_EQ(capture->executions[0].start_ns, 100);
  EXPECT_EQ(capture->executions[1].end_ns, 7500);
  EXPECT_EQ(capture->kernel_name({0}), "_Z4copyPf");
}

}  // namespace
}  // namespace kvet::store
