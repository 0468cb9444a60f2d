#include "probes/counters/refusal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "abi/vendor/cupti_pm.h"
#include "probes/counters/nvml_reader.h"
#include "probes/counters/vendor_libraries.h"

namespace kvet::probes {
namespace {

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Refusal, SaysWhatToDo) {
  EXPECT_TRUE(says(refusal("cuptiPmSamplingEnable", KVET_PM_INSUFFICIENT_PRIVILEGES, "GH100"),
                   "NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_TRUE(says(refusal("cuptiPmSamplingEnable", KVET_PM_HARDWARE_BUSY, "GH100"), "another client"));
  EXPECT_TRUE(says(refusal("cuptiProfilerHostInitialize", KVET_PM_INVALID_CHIP_NAME, "GX100"), "GX100"));
  EXPECT_TRUE(says(refusal("cuptiPmSamplingEnable", KVET_PM_MIG_DEVICE, ""), "MIG"));
  const std::string unknown = refusal("cuptiPmSamplingStart", KVET_PM_UNKNOWN, "GH100");
  EXPECT_TRUE(says(unknown, "cuptiPmSamplingStart") && says(unknown, "999")) << unknown;
}

class FakeProc : public testing::Test {
 protected:
  FakeProc() {
    char name[] = "/tmp/kvet-proc-XXXXXX";
    folder = ::mkdtemp(name);
  }
  ~FakeProc() override { [[maybe_unused]] const int status = std::system(("rm -rf " + folder).c_str()); }
  void add(const std::string& id, const std::string& command) const {
    ::mkdir((folder + "/" + id).c_str(), 0700);
    if (FILE* file = std::fopen((folder + "/" + id + "/comm").c_str(), "w")) {
      std::fputs((command + "\n").c_str(), file);
      std::fclose(file);
    }
  }
  std::string folder;
};

TEST_F(FakeProc, HoldersAreFoundByName) {
  add("12", "bash");
  add("self", "nsys");  // no number: no process
  EXPECT_EQ(probable_holders(folder), "");
  add("345", "nv-hostengine");
  EXPECT_EQ(probable_holders(folder), "nv-hostengine (pid 345)");
}

TEST(GpuUuid, IsReadAsNvmlWritesIt) {
  const auto uuid = parse_gpu_uuid("GPU-00112233-4455-6677-8899-aabbCCddeeff");
  ASSERT_TRUE(uuid);
  for (uint8_t i = 0; i < 16; ++i) {
    EXPECT_EQ((*uuid)[i], 0x11 * i);
  }
  for (const char* wrong :
       {"", "GPU-", "MIG-00112233-4455-6677-8899-aabbccddeeff", "GPU-00112233-4455-6677-8899-aabbccddee",
        "GPU-00112233-4455-6677-8899-aabbccddeeff0", "GPU-0011223g-4455-6677-8899-aabbccddeeff"}) {
    EXPECT_FALSE(parse_gpu_uuid(wrong)) << wrong;
  }
}

class ChosenCupti : public testing::Test {
 protected:
  ~ChosenCupti() override { ::unsetenv("KVET_CUPTI_PATH"); }
  static std::string message(const char* path) {
    ::setenv("KVET_CUPTI_PATH", path, 1);
    auto library = load_pm({});
    return library ? "loaded " + library->path : library.error().message();
  }
};

TEST_F(ChosenCupti, SaysWhyALibraryWillNotDo) {
  EXPECT_TRUE(says(message("/nonexistent/libcupti.so"), "/nonexistent/libcupti.so"));
  // Any shared object without CUPTI's functions stands for a CUPTI that is too old.
  const std::string old = message("libm.so.6");
  EXPECT_TRUE(says(old, "too old") && says(old, "libm.so.6") && says(old, "12.6")) << old;
}

}  // namespace
}  // namespace kvet::probes
