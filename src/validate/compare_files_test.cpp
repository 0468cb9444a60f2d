// From capture files on disk to the text and the JSON of a verdict.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "report/json.h"
#include "report/verdict_json.h"
#include "report/verdict_text.h"
#include "store/reader.h"
#include "validate/planted_workload.h"
#include "validate/result_files.h"
#include "verdict/comparison.h"
#include "verdict/planted_capture.h"

namespace kvet::validate {
namespace {

using verdict::testing::PlantedLoop;

class CompareFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "kvet-compare-" + std::to_string(::getpid());
    ASSERT_TRUE(make_folder(folder_));
    PlantedLoop baseline{{{"stock_norm", 120}}}, candidate{{{"generated_norm", 80}}};
    baseline.jitter = candidate.jitter = 0.01;
    ASSERT_TRUE(testing::write_capture(verdict::testing::planted_loop(baseline, ""), path("a.kvet")));
    ASSERT_TRUE(testing::write_capture(verdict::testing::planted_loop(candidate, ""), path("b.kvet")));
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] Result<verdict::Verdict> compare() const {
    verdict::ComparisonOptions options;
    options.decision.claim = 1.5;
    return verdict::compare({{path("a.kvet"), verdict::Arm::baseline}, {path("b.kvet"), verdict::Arm::candidate}},
                            options, [](const verdict::Input& input) { return store::read_capture(input.path); });
  }
  std::string folder_;
};

TEST_F(CompareFiles, GiveTheVerdictThatWasPlanted) {
  auto verdict = compare();
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->word, verdict::Word::survives);
  EXPECT_TRUE(verdict->likely);
  EXPECT_NEAR(verdict->levels.at(2).estimate->ratio, 1.5, 1e-9);
  ASSERT_EQ(verdict->questions.size(), 4U);
  for (const auto& line : verdict->questions) {
    EXPECT_FALSE(line.candidate.empty());  // unavailable is an answer, silence is none
  }
}

TEST_F(CompareFiles, TextFitsOneScreen) {
  const std::string text = report::render_verdict(*compare(), {100, false});
  size_t lines = 0, begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    ++lines;
    // Columns, not bytes: bytes that continue a character do not count.
    size_t columns = 0;
    for (char byte : text.substr(begin, end - begin)) {
      columns += (static_cast<unsigned char>(byte) & 0xc0U) != 0x80 ? 1 : 0;
    }
    EXPECT_LE(columns, 100U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_LE(lines, report::screen_lines) << text;
  EXPECT_EQ(text.rfind("likely SURVIVES", 0), 0U) << text;
  for (const char* part : {"held against", "kernel set alone", "Occupancy", "Why", "Try", "Cost", "Look"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST_F(CompareFiles, ResultFolderHoldsBothForms) {
  auto verdict = compare();
  ASSERT_TRUE(write_verdict(folder_, *verdict, {}));
  auto json = report::Json::parse(*read_file(path("verdict.json")), "verdict.json");
  ASSERT_TRUE(json) << json.error().message();
  EXPECT_EQ((*json)["schema"].string(), "kvet.verdict/1");
  EXPECT_EQ((*json)["word"].string(), "SURVIVES");
  EXPECT_EQ((*json)["likely"].boolean(), true);
  EXPECT_EQ((*json)["exit_status"].integer(), 14);
  EXPECT_NEAR(*(*json)["levels"].elements().at(2)["estimate"]["ratio"].number(), 1.5, 1e-9);
  EXPECT_EQ(*read_file(path("report.txt")), report::render_verdict(*verdict, {100, false}));
}

TEST_F(CompareFiles, ResultFolderHoldsAllFilesOrNone) {
  auto verdict = compare();
  const std::filesystem::path results = path("results");
  ASSERT_TRUE(make_folder(results / "verdict.sarif"));  // the last of them cannot be written
  const auto written = write_verdict(results, *verdict, {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().exit_status(), 70);
  EXPECT_EQ(written.error().subject, results / "verdict.sarif");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(results), {}), 1);
  std::filesystem::remove_all(results);
}

TEST_F(CompareFiles, SwappedArmsInvertTheIsolatedRunsToo) {
  for (const char* name : {"a.kvet", "b.kvet"}) {
    ASSERT_TRUE(store::annotate(path(name), {{"experiment.arm", name[0] == 'a' ? "baseline" : "candidate"},
                                             {"experiment.isolated", "1.4,1.5"}}));
  }
  EXPECT_NEAR(compare()->levels.at(0).estimate->ratio, std::sqrt(1.4 * 1.5), 1e-9);  // the mean of the logarithms
  verdict::ComparisonOptions options;
  auto swapped = verdict::compare({{path("b.kvet"), verdict::Arm::baseline}, {path("a.kvet"), verdict::Arm::candidate}},
                                  options, [](const verdict::Input& input) { return store::read_capture(input.path); });
  ASSERT_TRUE(swapped) << swapped.error().message();
  EXPECT_NEAR(swapped->levels.at(0).estimate->ratio, 1 / std::sqrt(1.4 * 1.5), 1e-9);
  EXPECT_NEAR(swapped->levels.at(2).estimate->ratio, 1 / 1.5, 1e-9);
}

TEST_F(CompareFiles, ADeletedExecutionIsRefused) {
  Capture capture = *store::read_capture(path("b.kvet"));
  capture.executions.erase(capture.executions.begin() + 50);
  ASSERT_TRUE(testing::write_capture(capture, path("b.kvet")));
  auto verdict = compare();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->word, verdict::Word::refused);
  EXPECT_EQ(verdict->refusals.front().code, "counts_disagree");
}

}  // namespace
}  // namespace kvet::validate
