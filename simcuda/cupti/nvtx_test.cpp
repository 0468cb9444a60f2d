// Ranges through NVIDIA's own NVTX header, where the machine has it: the stand-in fills the slots as the real library does, and
// records come out with name, thread and order.
#include <gtest/gtest.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "abi/vendor/cupti_activity.h"

extern "C" {
int cuptiActivityRegisterCallbacks(kvet_cupti_buffer_requested_function, kvet_cupti_buffer_completed_function);
int cuptiActivityEnable(uint32_t);
int cuptiActivityFlushAll(uint32_t);
int cuptiActivityGetNextRecord(uint8_t*, size_t, kvet_cupti_activity**);
}

namespace simcuda {
namespace {

std::vector<kvet_cupti_marker> markers;
void requested(uint8_t** buffer, size_t* size, size_t* most) {
  *size = 4096;
  *most = 0;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
}
void completed(kvet_cuda_context_t, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  kvet_cupti_activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
    if (record->kind == KVET_CUPTI_ACTIVITY_MARKER) {
      markers.push_back(*reinterpret_cast<kvet_cupti_marker*>(record));
    }
  }
  std::free(buffer);
}

TEST(Nvtx, RangesOfTheRealHeaderBecomeMarkers) {
  Dl_info self{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&cuptiActivityEnable), &self), 0);
  setenv("NVTX_INJECTION64_PATH", self.dli_fname, 1);
  ASSERT_EQ(cuptiActivityRegisterCallbacks(requested, completed), 0);
  ASSERT_EQ(cuptiActivityEnable(KVET_CUPTI_ACTIVITY_MARKER), 0);
  nvtxRangePushA("outer");
  nvtxRangeId_t crossing = nvtxRangeStartA("crossing");
  nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "inner";
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxDomainRangePop(domain);
  nvtxRangePop();
  nvtxRangeEnd(crossing);
  cuptiActivityFlushAll(1);
  ASSERT_EQ(markers.size(), 6u);
  auto find = [](const char* name) -> const kvet_cupti_marker* {
    for (const kvet_cupti_marker& marker : markers) {
      if (marker.name != nullptr && std::string(marker.name) == name) {
        return &marker;
      }
    }
    return nullptr;
  };
  auto end_of = [](const kvet_cupti_marker& start) -> const kvet_cupti_marker* {
    for (const kvet_cupti_marker& marker : markers) {
      if (marker.id == start.id && marker.flags == KVET_CUPTI_MARKER_END) {
        return &marker;
      }
    }
    return nullptr;
  };
  const kvet_cupti_marker *outer = find("outer"), *inner = find("inner"), *range = find("crossing");
  ASSERT_NE(outer, nullptr);
  ASSERT_NE(inner, nullptr);
  ASSERT_NE(range, nullptr);
  ASSERT_NE(end_of(*outer), nullptr);
  ASSERT_NE(end_of(*inner), nullptr);
  ASSERT_NE(end_of(*range), nullptr);
  EXPECT_EQ(outer->object_id.thread_or_context, static_cast<uint32_t>(syscall(SYS_gettid)));
  EXPECT_EQ(outer->domain, nullptr);
  EXPECT_STREQ(inner->domain, "domain");
  EXPECT_LE(outer->timestamp, inner->timestamp);
  EXPECT_LE(end_of(*inner)->timestamp, end_of(*outer)->timestamp);
}

}  // namespace
}  // namespace simcuda

#else
TEST(Nvtx, RangesOfTheRealHeaderBecomeMarkers) { GTEST_SKIP() << "no nvtx3 header on this machine"; }
#endif
