#include "base/demangle.h"

#include <gtest/gtest.h>

extern "C" __attribute__((weak)) int __gcclibcxx_demangle_callback(const char*, void (*)(const char*, size_t, void*),
                                                                   void*);

namespace kvet {
namespace {

TEST(Demangle, MangledNamesAreDecoded) {
  EXPECT_EQ(demangle("_Z5scalePfi"), "scale(float*, int)");
  EXPECT_EQ(demangle("_ZN2at6native4fillIfEEvPT_"), "void at::native::fill<float>(float*)");
}

TEST(Demangle, OtherNamesComeBackAsTheyAre) {
  for (const char* name : {"triton_poi_fused_add_0d1d2d", "", "_Z", "_Znothing here", "scale(float*, int)"}) {
    EXPECT_EQ(demangle(name), name);
  }
  EXPECT_EQ(demangle(std::string_view("_Z1f\0v", 6)), std::string_view("_Z1f\0v", 6));
}

// libiberty refuses what needs more than 2,048 components, two per byte of the name.
TEST(Demangle, TheQualifiedNameOfAnOverlongSymbolIsDecoded) {
  const std::string many_ints(3000, 'i');
  EXPECT_EQ(demangle("_ZN7cutlass13device_kernelI" + many_ints + "EEvT_"), "cutlass::device_kernel<...>");
  EXPECT_EQ(demangle("_Z6kernelI" + many_ints + "EvT_"), "kernel<...>");
  EXPECT_EQ(demangle("_ZN12_GLOBAL__N_13runI" + many_ints + "EEvT_"), "(anonymous namespace)::run<...>");
  EXPECT_EQ(demangle("_ZSt4copyI" + many_ints + "EvT_"), "std::copy<...>");
  EXPECT_EQ(demangle("_Z99999999999999999999x" + many_ints), "_Z99999999999999999999x" + many_ints);
  EXPECT_EQ(demangle("_ZN" + many_ints), "_ZN" + many_ints);
}

// Sixty substitutions that each double the one before: 2^60 copies of a type in 500 bytes.
TEST(Demangle, AnExpansionIsStopped) {
  if (__gcclibcxx_demangle_callback == nullptr) {
    GTEST_SKIP() << "needs a statically linked libstdc++, as in the release build";
  }
  static constexpr char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string symbol = "_Z1fSt4pairIiiE";
  for (size_t index = 0; index < 60; ++index) {
    std::string number = index < 36 ? "" : "1";
    number += digits[index % 36];
    symbol.append("S_IS").append(number).append("_S").append(number).append("_E");
  }
  EXPECT_EQ(demangle(symbol), "f");
}

}  // namespace
}  // namespace kvet
