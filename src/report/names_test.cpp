#include "report/names.h"

#include <gtest/gtest.h>

#include "base/safe_text.h"

namespace kvet::report {
namespace {

TEST(ShortName, SignatureGoesFirst) {
  EXPECT_EQ(short_name("_Z5scalePfi", 40), "scale");
  EXPECT_EQ(short_name("void at::native::fill<float>(float*)", 40), "at::native::fill<float>");
  EXPECT_EQ(short_name("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 60),
            "ncclKernel_AllReduce_RING_LL_Sum_float");
  EXPECT_EQ(short_name("void f<int>(int*) [clone .constprop.0]", 60), "f<int>");
}

TEST(ShortName, OtherNamesStayAsTheyAre) {
  for (const char* name : {"triton_poi_fused_add_0d1d2d", "ampere_sgemm_32x32_sliced1x4_nn",
                           "Memcpy HtoD (Pinned -> Device)", "a b c", "operator_kernel", ""}) {
    EXPECT_EQ(short_name(name, 60), name);
  }
}

TEST(ShortName, NamespacesInArgumentsGoThenArguments) {
  const std::string name =
      "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, "
      "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, "
      "at::native::AUnaryFunctor<float, "
      "float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul>)";
  EXPECT_EQ(short_name(name, 200).substr(0, 76),
            "at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float");
  EXPECT_EQ(short_name(name, 120),
            "at::native::vectorized_elementwise_kernel<4, AUnaryFunctor<float, float, float, MulFunctor<float>>, "
            "array<char*, 2ul>>");
  EXPECT_EQ(
      short_name(name, 108),
      "vectorized_elementwise_kernel<4, AUnaryFunctor<float, float, float, MulFunctor<float>>, array<char*, 2ul>>");
  EXPECT_EQ(short_name(name, 75), "vectorized_elementwise_kernel<…AUnaryFunctor<…MulFunctor<float>>…>");
  EXPECT_EQ(short_name(name, 62), "vectorized_elementwise_kernel<…AUnaryFunctor<…MulFunctor<…>>…>");
  EXPECT_EQ(short_name(name, 60), "vectorized_elementwise_kernel<4, AUnaryFunctor<…>, array<…>>");
  EXPECT_EQ(short_name(name, 50), "vectorized_elementwise_kernel<…AUnaryFunctor<…>…>");
  EXPECT_EQ(short_name(name, 46), "at::native::vectorized_elementwise_kernel<…>");
  EXPECT_EQ(short_name(name, 33), "vectorized_elementwise_kernel<…>");
  EXPECT_EQ(short_name(name, 20), "vectorized…kernel<…>");
}

TEST(ShortName, ALambdaIsCalledByItsFunction) {
  const std::string copy =
      "at::native::(anonymous namespace)::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}"
      "::operator()() const::{lambda()#14}::operator()() const::{lambda(float)#1}";
  const std::string name = "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<" + copy +
                           ">(at::TensorIteratorBase&, " + copy + " const&)::{lambda(int)#1}>(int, int)";
  EXPECT_EQ(short_name(name, 90), "at::native::elementwise_kernel<128, 2, gpu_kernel_impl<direct_copy_kernel_cuda>>");
}

TEST(ShortName, AnonymousNamespacesGoWhenSpaceIsShort) {
  const std::string name =
      "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*)";
  EXPECT_EQ(short_name(name, 60), "softmax_warp_forward<float, float, float, 10, true, false>");
}

TEST(ShortName, ArrowsAndOperatorsAreNoBrackets) {
  EXPECT_EQ(short_name("void f<(1 > 0), decltype(a->b)>(int)", 60), "f<(1 > 0), decltype(a->b)>");
  EXPECT_EQ(base_name("void ns::f<&ns::operator<, 3>(int)"), "f");
  EXPECT_EQ(base_name("void f<g(int)::{lambda()#1}::operator()() const::{lambda(int)#1}>(int)"), "f");
}

TEST(ShortName, HostileNamesFitAndAreHarmless) {
  std::string nested = "void f";
  for (int level = 0; level < 20'000; ++level) {
    nested += "<a";
  }
  for (const std::string& name :
       {std::string("<script>alert('x')</script>"), std::string("\x1b[2J\x1b]0;title\x07kernel"),
        std::string("a\nb\r\nc"), std::string(100'000, 'x'), std::string(100'000, '<'), std::string(100'000, '\xff'),
        std::string("k\xc3("), nested, nested + std::string(20'000, '>'), std::string("_Z") + std::string(100'000, 'N'),
        std::string(50'000, ':'), std::string("void operator"), std::string("("), std::string(")("), std::string("a::"),
        std::string("::")}) {
    for (size_t columns : {5u, 20u, 60u}) {
      const std::string text = short_name(name, columns);
      EXPECT_LE(display_width(text), columns) << name.substr(0, 40);
      for (char c : text) {
        EXPECT_GE(static_cast<unsigned char>(c), 0x20);
        EXPECT_NE(c, '\x7f');
      }
      EXPECT_EQ(text, safe_text(text)) << "must be fit for a terminal";
    }
  }
}

TEST(ShortNames, AlikeOnesGetAMark) {
  const std::vector<std::string> names = {"void ns::kernel<2>(int)", "void ns::kernel<2>(float)", "other"};
  const auto texts = short_names(names, 22);
  EXPECT_TRUE(texts[0].starts_with("ns::kernel<2>~")) << texts[0];
  EXPECT_TRUE(texts[1].starts_with("ns::kernel<2>~")) << texts[1];
  EXPECT_NE(texts[0], texts[1]);
  EXPECT_EQ(texts[2], "other");
  EXPECT_EQ(short_names({names[1], names[0]}, 22)[1], texts[0]) << "the mark does not depend on the order";
  EXPECT_LE(display_width(texts[0]), 22u);
}

TEST(BaseName, IsTheIdentifierOfTheFunction) {
  EXPECT_EQ(base_name("_ZN2at6native4fillIfEEvPT_"), "fill");
  EXPECT_EQ(base_name("void at::native::(anonymous namespace)::k<a::b<c>, d>(int)"), "k");
  EXPECT_EQ(base_name("triton_red_0"), "triton_red_0");
}

TEST(PatternMaker, FindsTheShortestThatMatchesNothingElse) {
  const PatternMaker maker({"_Z8rms_normPf", "_Z8rms_normPd", "_Z4reluPf", "void ns::k<4, int>(int)",
                            "void ns::k<4, float>(int)", "a+b", "evil\x1b[31m'; rm -rf /"});
  EXPECT_EQ(maker.pattern_for("_Z4reluPf"), "relu");
  EXPECT_EQ(maker.pattern_for("_Z8rms_normPf"), R"('rms_norm\(float')");
  EXPECT_EQ(maker.pattern_for("void ns::k<4, int>(int)"), "'k<4, int'");
  EXPECT_EQ(maker.pattern_for("a+b"), R"('a\+b')");
  EXPECT_EQ(maker.pattern_for("evil\x1b[31m'; rm -rf /"), R"('evil\x1b\[31m'\''; rm -rf /')");
  // One name is part of the other's everything: only the anchored one is left.
  EXPECT_EQ(PatternMaker({"norm", "norm2"}).pattern_for("norm"), "'^norm$'");
}

TEST(NameCache, GivesTheSameText) {
  NameCache cache(40);
  EXPECT_EQ(cache("_Z5scalePfi"), "scale");
  EXPECT_EQ(&cache("_Z5scalePfi"), &cache("_Z5scalePfi"));
}

}  // namespace
}  // namespace kvet::report
