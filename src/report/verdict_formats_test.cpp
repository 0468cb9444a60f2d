// One planted verdict in Markdown, JUnit and SARIF: each says what was planted, in its own form.
#include <gtest/gtest.h>

#include <cmath>

#include "report/verdict_junit.h"
#include "report/verdict_markdown.h"
#include "report/verdict_sarif.h"
#include "report/xml.h"

namespace kvet::report {
namespace {

using verdict::Verdict;
using verdict::Word;

constexpr const char* hostile = "k<script>`|@all\x1b[31m\n\xff";

Verdict planted(Word word) {
  Verdict verdict;
  verdict.word = word;
  verdict.headline = std::string(verdict::name(word)) + ": the kernel set is 1.250 times as fast";
  verdict.claim = 1.5;
  verdict.margin_log = std::log(1.02);
  verdict.threshold_log = 0.8 * std::log(1.5);
  verdict.check = "unchecked";
  verdict.step = "one range";
  verdict.quads = verdict.looked_at = 4;
  const char* ids[] = {"isolated", "alone", "set", "step", "end_to_end"};
  for (int number = 1; number <= 5; ++number) {
    verdict::Level level;
    level.number = number;
    level.id = ids[number - 1];
    level.what = ids[number - 1];
    if (number == 1) {
      level.reason = "was not run";
    } else {
      level.estimate = verdict::Estimate{1.25, Interval{1.2, 1.3}, 0.983, 4, "quads"};
      level.held_against = 1.5;
      level.held_against_name = "claim";
    }
    verdict.levels.push_back(level);
  }
  verdict.ledger.rows.push_back({"kernel", hostile, 3000, 2000, -1000, {}});
  verdict.ledger.baseline_wall_ns = 3000;
  verdict.ledger.candidate_wall_ns = 2000;
  verdict.ledger.adds_up = true;
  verdict.cautions.push_back({"no_metric", std::string("nothing guards ") + hostile, "give a metric"});
  verdict.kernel_set.push_back({hostile, 0, true, false, 7, 1e6});
  Finding finding;
  finding.id = "dram.solo";
  finding.question = Question::dram;
  finding.subject = hostile;
  finding.value = 2e12;
  finding.unit = "bytes/s";
  finding.evidence = Evidence::measured;
  finding.sentence = "It moved 2 TB/s.";
  verdict.questions.push_back({Question::dram, {}, {finding}});
  verdict.advice = {"change it"};
  verdict.captures_candidate = {"a folder/c#1.kvet"};
  return verdict;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

void expect_harmless(const std::string& text) {
  EXPECT_FALSE(has(text, "\x1b"));
  EXPECT_FALSE(has(text, "\xff"));
}

TEST(VerdictMarkdown, SaysTheWordTheLevelsAndTheLedger) {
  const std::string text = verdict_markdown(planted(Word::partial), false);
  EXPECT_TRUE(text.starts_with("### kvet: PARTIAL\n\nThe kernel set is 1.250 times as fast.\n")) << text;
  EXPECT_TRUE(has(text, "| **3 set** | **1.250** | **1.200 to 1.300** | **claim 1.500** |\n")) << text;
  EXPECT_TRUE(has(text, "| 1 isolated |  | unavailable: was not run |  |\n"));
  EXPECT_TRUE(has(text, "| 3.0 | 2.0 | -1.0 |\n"));
  EXPECT_TRUE(has(text, "- **DRAM**: solo 2.00 TB/s\n"));
  EXPECT_TRUE(has(text, "**Gate**: not passed"));
}

TEST(VerdictMarkdown, HostileNamesStayText) {
  const std::string text = verdict_markdown(planted(Word::partial), false);
  expect_harmless(text);
  EXPECT_TRUE(has(text, "`k<script>\\x60\\x7c@all\\x1b[31m\\n\ufffd`")) << text;  // code: nothing in it is looked at
  EXPECT_TRUE(has(text, "nothing guards k&lt;script&gt;\\`&#124;@\u200ball\\\\x1b\\[31m\\\\n\ufffd")) << text;
}

size_t count(const std::string& text, std::string_view part) {
  size_t times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

TEST(VerdictJunit, TheWordAndItsLevelFail) {
  // The word, and level 3: its interval ends below 1.5^0.8 = 1.383. Level 1 was not run; the outputs are unchecked.
  const std::string text = verdict_junit(planted(Word::partial), false);
  EXPECT_TRUE(has(text, "<testsuites name=\"kvet\" tests=\"9\" failures=\"2\" errors=\"0\" time=\"0\">")) << text;
  EXPECT_TRUE(has(text, "tests=\"9\" failures=\"2\" errors=\"0\" skipped=\"2\""));
  EXPECT_EQ(count(text, "<testcase "), 9u);
  EXPECT_EQ(count(text, "<failure "), 2u);
  EXPECT_EQ(count(text, "<skipped "), 2u);
  EXPECT_TRUE(has(text, "message=\"PARTIAL: the kernel set is 1.250 times as fast\""));
  EXPECT_TRUE(has(text, "to do: change it"));
  expect_harmless(text);
}

TEST(VerdictJunit, WhatTheGateLetsThroughFailsNothing) {
  const std::string text = verdict_junit(planted(Word::partial), true);
  EXPECT_EQ(count(text, "<failure "), 0u);
  EXPECT_TRUE(has(text, "failures=\"0\""));
  EXPECT_EQ(count(text, "<skipped "), 3u);
}

TEST(VerdictJunit, RefusalsNameTheirCodeAndWhatToDo) {
  Verdict verdict = planted(Word::refused);
  verdict.refusals.push_back({"lost_records", "7 records were lost", "make the buffer larger"});
  const std::string text = verdict_junit(verdict, false);
  EXPECT_TRUE(
      has(text,
          "<failure type=\"kvet\" message=\"7 records were lost\">7 records were lost (lost_records; to do: make "
          "the buffer larger)</failure>"))
      << text;
}

TEST(Xml, WhatXmlCannotHoldIsReplaced) {
  EXPECT_EQ(xml_text("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&apos;");
  EXPECT_EQ(xml_text(std::string_view("\0\x08\n\xef\xbf\xbe\xef\xbf\xbd\xef\xac\x80", 12)),
            "\\x00\\x08\\n\ufffd\ufffd\ufb00");
}

TEST(VerdictSarif, RulesAndResultsFitTogether) {
  const Json root = verdict_sarif(planted(Word::partial), false, "");
  EXPECT_EQ(root["version"].string(), "2.1.0");
  ASSERT_EQ(root["runs"].elements().size(), 1u);
  const Json& run = root["runs"].elements()[0];
  const auto& rules = run["tool"]["driver"]["rules"].elements();
  const auto& results = run["results"].elements();
  ASSERT_EQ(results.size(), 3u);  // the word, a caution, a finding
  for (const Json& result : results) {
    const Json& rule = rules.at(*result["ruleIndex"].unsigned_integer());
    EXPECT_EQ(rule["id"].string(), result["ruleId"].string());
    EXPECT_FALSE(rule["help"]["text"].string()->empty());
    const Json& place = result["locations"].elements().at(0)["physicalLocation"];
    EXPECT_EQ(place["artifactLocation"]["uri"].string(), "a%20folder/c%231.kvet");
  }
  EXPECT_EQ(results[0]["ruleId"].string(), "verdict.word");
  EXPECT_EQ(results[0]["level"].string(), "error");
  EXPECT_EQ(results[1]["ruleId"].string(), "verdict.caution.no_metric");
  EXPECT_EQ(results[1]["level"].string(), "note");
  EXPECT_EQ(results[2]["ruleId"].string(), "dram.solo");
  EXPECT_TRUE(has(std::string(*results[2]["message"]["text"].string()), "2.00 TB/s"));
  expect_harmless(root.dump());
}

TEST(VerdictSarif, WhatTheGateLetsThroughIsNoError) {
  Verdict verdict = planted(Word::refused);
  verdict.refusals.push_back({"lost_records", "7 records were lost", ""});
  EXPECT_TRUE(has(verdict_sarif(verdict, false, "plan.toml").dump(), "\"level\":\"error\""));
  const std::string passed = verdict_sarif(verdict, true, "plan.toml").dump();
  EXPECT_FALSE(has(passed, "\"level\":\"error\""));
  EXPECT_TRUE(has(passed, "\"uri\":\"plan.toml\""));
}

}  // namespace
}  // namespace kvet::report
