#include "gpu_work/kernels.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace kvet::gpu_work {
namespace {

constexpr const char* ptxas = "/usr/local/cuda/bin/ptxas";

// The status of ptxas for a chip, and what it said.
std::pair<int, std::string> assemble(const std::string& text, const std::string& chip) {
  char folder[] = "/tmp/kvet_ptx_XXXXXX";
  if (::mkdtemp(folder) == nullptr) {
    return {-1, "no temporary folder"};
  }
  const std::string source = std::string(folder) + "/kernels.ptx", out = std::string(folder) + "/kernels.cubin";
  std::ofstream(source) << text;
  const std::string command = std::string(ptxas) + " -v -arch=" + chip + " " + source + " -o " + out + " 2>&1";
  std::string said;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  for (char line[512]; pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr;) {
    said += line;
  }
  const int status = pipe == nullptr ? -1 : ::pclose(pipe);
  ::unlink(source.c_str());
  ::unlink(out.c_str());
  ::rmdir(folder);
  return {status, said};
}

struct Assembles : testing::TestWithParam<const char*> {};

TEST_P(Assembles, ForEveryGenerationWithoutSpilling) {
  if (::access(ptxas, X_OK) != 0) {
    GTEST_SKIP() << "needs " << ptxas;
  }
  const auto [status, said] = assemble(kernel_text(), GetParam());
  if (said.find("is not defined for option 'gpu-name'") != std::string::npos) {
    GTEST_SKIP() << "this ptxas does not know " << GetParam();
  }
  EXPECT_EQ(status, 0) << said;
  // Each kernel says how much it spills: registers were enough for what is in flight.
  size_t kernels = 0;
  for (size_t at = said.find("bytes spill stores"); at != std::string::npos;
       at = said.find("bytes spill stores", at + 1)) {
    ++kernels;
    EXPECT_EQ(said.substr(at - 2, 2), "0 ") << said;
  }
  EXPECT_EQ(kernels, 7U) << said;
}
INSTANTIATE_TEST_SUITE_P(Chips, Assembles,
                         testing::Values("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103",
                                         "sm_120"));

TEST(Assembler, RefusesWhatIsWrong) {
  if (::access(ptxas, X_OK) != 0) {
    GTEST_SKIP() << "needs " << ptxas;
  }
  std::string broken = kernel_text();
  broken.replace(broken.find("ld.acquire.sys"), 14, "ld.acquire.bad");
  EXPECT_NE(assemble(broken, "sm_90").first, 0);
}

}  // namespace
}  // namespace kvet::gpu_work
