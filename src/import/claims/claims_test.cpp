// Small result files written by hand after each format's documentation, with ratios known beforehand.
#include "import/claims/claims.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace kvet::importing {
namespace {

Claim good(std::string_view content, const std::string& id) {
  auto claim = claim_in(content, "file", id);
  EXPECT_TRUE(claim.has_value()) << claim.error().message();
  return claim.value_or(Claim{.ratio = -1});
}

std::string refused(std::string_view content, const std::string& id) {
  auto claim = claim_in(content, "file", id);
  EXPECT_FALSE(claim.has_value()) << "a claim of " << claim->ratio;
  if (claim) {
    return "";
  }
  EXPECT_EQ(claim.error().kind, ErrorKind::bad_input);
  const std::string message = claim.error().message();
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_LT(message.size(), 3000U);
  return message;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr const char* kernelbench = R"({
  "3": {"sample_id": 0, "compiled": true, "correctness": true, "metadata": {"hardware": "NVIDIA L40S"},
        "runtime": 1.25, "runtime_stats": {"mean": 1.25}, "ref_runtime": 2.5, "ref_runtime_stats": {"mean": 2.5}},
  "4": [{"sample_id": 0, "compiled": true, "correctness": false, "runtime": -1.0},
        {"sample_id": 1, "compiled": true, "correctness": true, "runtime": 4.0, "metadata": {"speedup": 1.5}}],
  "5": {"0": {"compiled": true, "correctness": true, "runtime": -1.0, "runtime_stats": {}}}})";

TEST(Claims, OfKernelBench) {
  const Claim claim = good(kernelbench, "3");
  EXPECT_DOUBLE_EQ(claim.ratio, 2.0);
  EXPECT_DOUBLE_EQ(*claim.baseline_ns, 2.5e6);
  EXPECT_DOUBLE_EQ(*claim.candidate_ns, 1.25e6);
  EXPECT_EQ(claim.device, "NVIDIA L40S");
  EXPECT_EQ(claim.format, "KernelBench");
  EXPECT_DOUBLE_EQ(good(kernelbench, "4/1").ratio, 1.5);
  EXPECT_TRUE(contains(refused(kernelbench, "4/0"), "correctness is false"));
  EXPECT_TRUE(contains(refused(kernelbench, "5/0"), "runtime is -1"));
  const std::string message = refused(kernelbench, "");
  EXPECT_TRUE(contains(message, "4 results")) << message;
  EXPECT_TRUE(contains(message, "3, 4/0, 4/1, 5/0")) << message;
}

TEST(Claims, OfKernelBenchAreOfCorrectResultsAlone) {
  const auto sample = [](const std::string& more) {
    return "{\"1\": {\"runtime\": 1.0, \"ref_runtime\": 2.0" + more + "}}";
  };
  for (const char* value : {"false", "0", "null", "\"False\"", "1", "\"true\"", "[]", "{}"}) {
    for (const std::string test : {"correctness", "compiled"}) {
      const std::string message = refused(sample(", \"" + test + "\": " + value), "1");
      EXPECT_TRUE(contains(message, test + " is ")) << message;
    }
  }
  EXPECT_TRUE(
      contains(refused(R"({"1": {"compiled": true, "correctness": true, "runtime": "abc", "ref_runtime": 2}})", "1"),
               "runtime is the text \"abc\", not a number"));
  EXPECT_TRUE(good(sample(R"(, "compiled": true, "correctness": true)"), "1").known_correct);
  EXPECT_FALSE(good(sample(R"(, "compiled": true)"), "1").known_correct);
}

TEST(Claims, OfKernelBenchBaselinesNeedTheOtherArm) {
  constexpr const char* baselines =
      R"({"level1": {"1_Square.py": {"mean": 2.66, "std": 0.001, "hardware": "NVIDIA H200"}}})";
  EXPECT_TRUE(contains(refused(baselines, ""), "one time"));
}

constexpr const char* traces =
    R"({"definition": "rmsnorm_d128", "workload": {"uuid": "aa-1", "axes": {"n": 4}}, "solution": null, "evaluation": null})"
    "\n"
    R"({"definition": "rmsnorm_d128", "workload": {"uuid": "aa-1"}, "solution": "one", "evaluation": {"status": "PASSED",)"
    R"( "environment": {"hardware": "NVIDIA_H100"}, "performance": {"latency_ms": 0.02, "reference_latency_ms": 0.05, "speedup_factor": 2.5}}})"
    "\n\n"
    R"({"definition": "rmsnorm_d128", "workload": {"uuid": "aa-1"}, "solution": "two", "evaluation": {"status": "INCORRECT_NUMERICAL",)"
    R"( "environment": {"hardware": "NVIDIA_H100"}}})"
    "\n"
    R"({"definition": "rmsnorm_d128", "workload": {"uuid": "bb-2"}, "solution": "one", "evaluation": {"status": "PASSED",)"
    R"( "environment": {"hardware": "NVIDIA_H100"}, "performance": {"latency_ms": 0.02, "reference_latency_ms": 0.05, "speedup_factor": 25}}})";

TEST(Claims, OfFlashInferTraces) {
  const Claim claim = good(traces, "one/aa-1");
  EXPECT_DOUBLE_EQ(claim.ratio, 2.5);
  EXPECT_DOUBLE_EQ(*claim.candidate_ns, 20'000);
  EXPECT_EQ(claim.id, "rmsnorm_d128/one/aa-1");
  EXPECT_EQ(claim.where, "line 2");
  EXPECT_TRUE(contains(refused(traces, "two"), "INCORRECT_NUMERICAL"));
  EXPECT_TRUE(contains(refused(traces, "two"), "line 4"));
  EXPECT_TRUE(contains(refused(traces, "one"), "2 results 'one'"));
  EXPECT_TRUE(contains(refused(traces, "bb-2"), "it says 25 times as fast, its own times say 2.5"));
}

constexpr const char* autokernel =
    "experiment\ttag\tkernel_type\tthroughput_tflops\tlatency_us\tpct_peak\tspeedup_vs_pytorch\tcorrectness\tpeak_vram_"
    "mb\tdescription\n"
    "0\tbase\tmatmul\t100\t200.0\t10%\t0.8\tPASS\t64\tstock\n"
    "1\ttiles\tmatmul\t160\t125.0\t16%\t1.28x\tPASS\t64\tlarger tiles\r\n"
    "2\twrong\tmatmul\t0\t0.0\t0%\t0\tFAIL\t0\tcrashed\n"
    "3\tpercent\tmatmul\t160\t125.0\t16%\t28%\tPASS\t64\tin percent\n"
    "1\tagain\tmatmul\t160\t125.0\t16%\t1.28\tPASS\t64\tthe same number\n";

TEST(Claims, OfAutoKernel) {
  EXPECT_DOUBLE_EQ(good(autokernel, "tiles").ratio, 1.28);
  EXPECT_DOUBLE_EQ(*good(autokernel, "tiles").candidate_ns, 125'000);
  EXPECT_EQ(good(autokernel, "base").where, "line 2");
  EXPECT_TRUE(contains(refused(autokernel, "2"), "FAIL"));
  EXPECT_TRUE(contains(refused(autokernel, "3"), "two ways"));
  EXPECT_TRUE(contains(refused(autokernel, "1"), "line 3 and line 6"));
  EXPECT_TRUE(contains(refused("experiment\tlatency_us\n1\n", "1"), "file:2"));
}

constexpr const char* nvbench = R"({"devices": [{"id": 0, "name": "NVIDIA H200"}], "benchmarks": [
  {"name": "norm", "states": [
    {"name": "Device=0 Kernel=stock", "device": 0, "summaries": [{"tag": "nv/cold/time/gpu/mean", "hint": "duration",
       "data": [{"name": "value", "type": "float64", "value": "3e-05"}]}], "is_skipped": false},
    {"name": "Device=0 Kernel=fused", "device": 0, "summaries": [{"tag": "nv/cold/time/gpu/mean",
       "data": [{"name": "value", "type": "float64", "value": "2e-05"}]}], "is_skipped": false},
    {"name": "Device=0 Kernel=none", "device": 0, "summaries": null, "is_skipped": true}]}]})";

TEST(Claims, OfNvbenchNeedTwoStates) {
  const std::string message = refused(nvbench, "Device=0 Kernel=stock");
  EXPECT_TRUE(contains(message, "BASELINE vs CANDIDATE")) << message;
  EXPECT_TRUE(contains(refused(nvbench, "Device=0 Kernel=none"), "skipped"));
}

constexpr const char* google = R"({"context": {"gpu": "NVIDIA H200"}, "benchmarks": [
  {"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "real_time": 30, "time_unit": "us"},
  {"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "real_time": 90, "time_unit": "us"},
  {"name": "BM_a/8_mean", "run_name": "BM_a/8", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 60, "time_unit": "us"},
  {"name": "BM_a/8_median", "run_name": "BM_a/8", "run_type": "aggregate", "aggregate_name": "median", "real_time": 50, "time_unit": "us"},
  {"name": "BM_a/8_cv", "run_name": "BM_a/8", "run_type": "aggregate", "aggregate_name": "cv", "aggregate_unit": "percentage",
   "real_time": 0.5, "time_unit": "us"},
  {"name": "BM_b/8", "run_name": "BM_b/8", "run_type": "iteration", "real_time": 20000, "time_unit": "ns"},
  {"name": "BM_b/8", "run_name": "BM_b/8", "run_type": "iteration", "real_time": 30000, "time_unit": "ns"},
  {"name": "BM_c", "run_name": "BM_c", "run_type": "iteration", "error_occurred": true, "error_message": "no GPU"},
  {"name": "BM_d", "run_name": "BM_d", "run_type": "iteration", "real_time": 3, "time_unit": "hours"}]})";

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "claims-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string& name, std::string_view content) { std::ofstream(folder + "/" + name) << content; }
  std::string refused_file(const std::string& reference) {
    auto claim = read_claim(reference, folder);
    EXPECT_FALSE(claim.has_value()) << reference;
    return claim ? "" : claim.error().message();
  }
  std::string folder;
};

TEST_F(Files, TwoResultsMakeAClaim) {
  write("google.json", google);
  write("nv.json", nvbench);
  auto claim = read_claim("google.json#BM_a/8 vs BM_b/8", folder);
  ASSERT_TRUE(claim.has_value()) << claim.error().message();
  EXPECT_DOUBLE_EQ(claim->ratio, 2.0);  // the median of a, the mean of b's repetitions: 50 µs and 25 µs
  EXPECT_EQ(claim->device, "NVIDIA H200");
  EXPECT_EQ(claim->id, "BM_a/8 vs BM_b/8");
  auto states = read_claim("nv.json#Device=0 Kernel=stock vs norm/Device=0 Kernel=fused", folder);
  ASSERT_TRUE(states.has_value()) << states.error().message();
  EXPECT_DOUBLE_EQ(states->ratio, 1.5);
  EXPECT_DOUBLE_EQ(*states->baseline_ns, 30'000);
  EXPECT_TRUE(contains(refused_file("google.json#BM_a/8 vs BM_c"), "no GPU"));
  EXPECT_TRUE(contains(refused_file("google.json#BM_a/8 vs BM_d"), "hours"));
  EXPECT_TRUE(contains(refused_file("google.json#BM_a/8 vs nothing"), "no result 'nothing'"));
}

TEST_F(Files, TheArmsMayStandInTwoFiles) {
  write("base.json", R"({"level1": {"3_Norm.py": {"mean": 3.0, "hardware": "NVIDIA H200"}}})");
  write("eval#2.json",
        R"({"3": {"compiled": true, "correctness": true, "runtime": 2.0, "metadata": {"hardware": "NVIDIA H200"}}})");
  write("other.json",
        R"({"3": {"compiled": true, "correctness": true, "runtime": 2.0, "metadata": {"hardware": "NVIDIA A100"}}})");
  for (const char* reference : {"base.json vs eval#2.json", "base.json#3_Norm.py vs eval#2.json#3",
                                "base.json#level1/3_Norm.py vs eval#2.json"}) {
    auto claim = read_claim(reference, folder);
    ASSERT_TRUE(claim.has_value()) << claim.error().message();
    EXPECT_DOUBLE_EQ(claim->ratio, 1.5) << reference;
  }
  EXPECT_TRUE(
      contains(refused_file("base.json vs other.json"), "measured on NVIDIA H200, the candidate on NVIDIA A100"));
}

TEST_F(Files, FilesThatAreNone) {
  write("empty.json", "");
  write("text.json", "it is 1.38 times as fast\n");
  EXPECT_TRUE(contains(refused_file("empty.json"), "empty"));
  EXPECT_TRUE(contains(refused_file("text.json#1"), "docs/claims.md"));
  EXPECT_TRUE(contains(refused_file("nowhere.json#1"), "nowhere.json"));
  EXPECT_TRUE(contains(refused_file("/dev/zero#1"), "is a pipe or device, not a regular file"));
  EXPECT_TRUE(contains(refused_file("/dev#1"), "is a folder"));
  EXPECT_TRUE(contains(refused_file("#"), "'#' names no file"));
  EXPECT_TRUE(contains(refused_file("nowhere.json"), "Check the name"));
  std::filesystem::resize_file(folder + "/empty.json", most_claim_bytes + 1);
  EXPECT_TRUE(contains(refused_file("empty.json#1"), "64 MiB"));
}

TEST(Claims, HostileJsonIsRefusedWithAPlace) {
  EXPECT_TRUE(contains(refused("{\n\"1\": {\"runtime\": 1.0,\n", ""), "ends in the middle"));
  EXPECT_TRUE(contains(refused("{\n\"1\": {\"runtime\": NaN}}", ""), "file:2"));
  EXPECT_TRUE(contains(refused(std::string(100'000, '['), ""), "nested deeper than 64"));
  EXPECT_TRUE(contains(refused(R"({"1": {"runtime": 1, "runtime": 2}})", ""), "there twice"));
  EXPECT_TRUE(contains(refused(R"({"1": {"runtime": 1}} trailing)", ""), "file:1"));
  EXPECT_TRUE(contains(refused("{\"1\": {\"runtime\": 1}}\n  trailing", ""),
                       "file:2: goes on behind the end of its JSON, at column 3"));
  EXPECT_TRUE(contains(refused("\xff\xfe{", ""), "UTF-16"));
  const auto timed = [](const std::string& time) {
    return R"({"context": {}, "benchmarks": [{"name": "a", "time_unit": "s", "real_time": )" + time + "}]}";
  };
  EXPECT_TRUE(contains(refused(timed("\"abc\""), ""), "real_time is the text \"abc\", not a number"));
  EXPECT_TRUE(contains(refused(timed("1e308"), ""), "real_time is 1e+308, which is out of range"));
  EXPECT_TRUE(contains(refused(R"({"1": {"compiled": true, "runtime": 1, "ref_runtime": 1e999}})", ""), "too large"));
  EXPECT_TRUE(contains(refused(R"({"1": {"compiled": true, "runtime": 0, "ref_runtime": 1}})", ""), "runtime is 0"));
  EXPECT_TRUE(contains(refused(R"({"1": {"compiled": true, "speedup": "38%"}})", ""), "text"));
  EXPECT_TRUE(contains(refused(R"({"1": {"compiled": true, "speedup": 1e9}})", ""), "ratio"));
  EXPECT_TRUE(contains(refused("{\"\\u001b[31m\xff\": {\"runtime\": 1}}", "x"), "file"));
}

TEST(Claims, OfManyIdsTenAreListed) {
  std::string many = "{";
  for (int i = 0; i < 1000; ++i) {
    many += (i > 0 ? ",\"" : "\"") + std::string(1000, 'x') + std::to_string(i) + R"(": {"runtime": 1})";
  }
  const std::string message = refused(many + "}", "");
  EXPECT_TRUE(contains(message, "and 990 more")) << message;
}

TEST_F(Files, OfAnyNameAreFiles) {
  write("results", R"({"1": {"compiled": true, "correctness": true, "runtime": 2.0, "ref_runtime": 3.0}})");
  ASSERT_TRUE(names_a_claim_file("results", folder));
  EXPECT_FALSE(names_a_claim_file("result", folder));
  EXPECT_TRUE(names_a_claim_file("/dev"));
  const auto claim = read_claim("results", folder);
  ASSERT_TRUE(claim.has_value()) << claim.error().message();
  EXPECT_DOUBLE_EQ(claim->ratio, 1.5);
}

TEST(Claims, ATextThatNamesAFile) {
  for (const char* text : {"results.json", "a#1", "x vs y", "r.tsv", "t.jsonl#a"}) {
    EXPECT_TRUE(names_a_claim_file(text)) << text;
  }
  for (const char* text : {"1.38", "38%", "1.38y", "", "fast"}) {
    EXPECT_FALSE(names_a_claim_file(text)) << text;
  }
}

}  // namespace
}  // namespace kvet::importing
