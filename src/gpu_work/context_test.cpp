#include "gpu_work/context.h"

#include <gtest/gtest.h>

#include "gpu_work/fake_driver.h"
#include "gpu_work/kernels.h"

namespace kvet::gpu_work {
namespace {

struct OpensContexts : testing::Test {
  FakeGpu gpu;
  OpensContexts() { fake = &gpu; }
  static Result<Context> open() { return Context::open(fake_driver(), DeviceChoice::ordinal(0)); }
  static std::string refusal() {
    const auto context = open();
    return context ? "" : context.error().message();
  }
};

TEST_F(OpensContexts, SaysWhatTheDeviceIs) {
  const auto context = open();
  ASSERT_TRUE(context) << context.error().message();
  EXPECT_EQ(context->device().uuid, "GPU-ab000000-0000-0000-0000-000000000000");
  EXPECT_EQ(context->device().uuid_hex, "ab000000000000000000000000000000");
  // Two transfers per clock of 2.5 GHz, 512 bytes each.
  EXPECT_EQ(context->device().peak_dram_bytes_per_second, 2'560'000'000'000ULL);
}

TEST_F(OpensContexts, FindsAGpuByItsUuid) {
  gpu.devices = 3;
  const auto context =
      Context::open(fake_driver(), DeviceChoice::with_uuid("GPU-AB000000-0000-0000-0000-000000000002"));
  ASSERT_TRUE(context) << context.error().message();
  EXPECT_EQ(context->device().ordinal, 2);
  EXPECT_FALSE(Context::open(fake_driver(), DeviceChoice::with_uuid("GPU-ff000000-0000-0000-0000-000000000002")));
  EXPECT_EQ(Context::open(fake_driver(), DeviceChoice::with_uuid("rm -rf")).error().kind, ErrorKind::usage);
}

TEST_F(OpensContexts, RefusesWithTheReasonAndWhatToDo) {
  gpu.name = "Fake H200 MIG 1g.18gb";
  EXPECT_NE(refusal().find("MIG slice"), std::string::npos);
  gpu.name = "Fake GPU";
  gpu.compute_mode = KVET_CUDA_COMPUTE_MODE_PROHIBITED;
  EXPECT_NE(refusal().find("nvidia-smi -c DEFAULT"), std::string::npos);
  gpu.compute_mode = 0;
  gpu.capability_major = 6;
  EXPECT_NE(refusal().find("below 7.0"), std::string::npos);
  gpu.capability_major = 7;
  gpu.context_result = KVET_CUDA_ERROR_DEVICE_UNAVAILABLE;
  EXPECT_NE(refusal().find("exclusive mode"), std::string::npos);
  gpu.context_result = KVET_CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_NE(refusal().find("Free memory"), std::string::npos);
  gpu.devices = 0;
  EXPECT_NE(refusal().find("shows no GPU"), std::string::npos);
  gpu.init_result = KVET_CUDA_ERROR_NO_DEVICE;
  EXPECT_NE(refusal().find("planted (100)"), std::string::npos);
  EXPECT_EQ(gpu.contexts, 0);
}

TEST_F(OpensContexts, SaysWhichPartOfTheDriverIsMissingForCompiling) {
  gpu.module_result = KVET_CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
  const auto kernels = open()->load(kernel_text());
  ASSERT_FALSE(kernels);
  EXPECT_NE(kernels.error().message().find("libnvidia-ptxjitcompiler"), std::string::npos);
}

TEST_F(OpensContexts, FreesEverythingInAnyOrder) {
  {
    auto context = std::make_unique<Context>(*open());
    const auto buffer = context->allocate(1 << 20);
    const auto mapped = context->allocate_mapped(4096);
    const auto stream = context->create_stream();
    const auto event = context->create_event();
    ASSERT_TRUE(buffer && mapped && stream && event);
    EXPECT_EQ(mapped->as<uint64_t>()[511], 0U);
    context.reset();
    EXPECT_EQ(gpu.contexts, 1) << "what came from the context still needs it";
  }
  EXPECT_EQ(gpu.contexts + gpu.allocations + gpu.streams + gpu.events, 0);
}

TEST_F(OpensContexts, AWaitEndsAndThenNothingIsFreed) {
  gpu.hangs = true;
  {
    const auto context = open();
    const auto buffer = context->allocate(1 << 20);
    const auto stream = context->create_stream();
    ASSERT_FALSE(*context->is_done(*stream));
    const auto waited = context->wait(*stream, std::chrono::milliseconds(2));
    ASSERT_FALSE(waited);
    EXPECT_NE(waited.error().what.find("did not end within 2 ms"), std::string::npos);
    EXPECT_TRUE(context->stuck());
  }
  // Freeing would wait for the GPU.
  EXPECT_EQ(gpu.contexts, 1);
  EXPECT_EQ(gpu.allocations, 1);
}

TEST_F(OpensContexts, AnErrorOfTheGpuEndsTheWait) {
  gpu.query_result = 700;
  const auto context = open();
  const auto stream = context->create_stream();
  const auto waited = context->wait(*stream, std::chrono::seconds(10));
  ASSERT_FALSE(waited);
  EXPECT_NE(waited.error().what.find("planted (700)"), std::string::npos);
  EXPECT_FALSE(context->stuck());
}

TEST(UuidDigits, TakesWhatNvmlWritesAndNothingElse) {
  EXPECT_EQ(uuid_digits("GPU-0123ABCD-0000-1111-2222-333344445555"), "0123abcd000011112222333344445555");
  EXPECT_EQ(uuid_digits("0123abcd000011112222333344445555"), "0123abcd000011112222333344445555");
  EXPECT_EQ(uuid_digits("MIG-0123abcd-0000-1111-2222-333344445555"), "");
  EXPECT_EQ(uuid_digits("GPU-0123"), "");
}

}  // namespace
}  // namespace kvet::gpu_work
