#include "report/verdict_junit.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/version.h"
#include "report/verdict_parts.h"
#include "report/xml.h"
#include "verdict/level_check.h"

namespace kvet::report {
namespace {

using verdict::Cause;
using verdict::LevelCheck;
using verdict::Verdict;

enum class Outcome { good, bad, skipped };

struct TestCase {
  std::string name;
  Outcome outcome = Outcome::good;
  std::string message;  // of what is bad or skipped, in one line
  std::string details;  // everything
};

std::string sentences(const std::vector<Cause>& causes, bool with_fix) {
  std::string text;
  for (const Cause& cause : causes) {
    text += (text.empty() ? "" : "; ") + cause.what;
    text += with_fix && !cause.fix.empty() ? " (" + cause.code + "; to do: " + cause.fix + ")" : "";
  }
  return text;
}

// What stands against the word, of one kind.
TestCase of_causes(std::string name, const std::vector<Cause>& causes, std::string otherwise) {
  if (causes.empty()) {
    return {std::move(name), Outcome::good, "", std::move(otherwise)};
  }
  return {std::move(name), Outcome::bad, sentences(causes, false), sentences(causes, true)};
}

TestCase of_kernel(const Verdict& verdict) {
  TestCase test = of_causes("kernel: its outputs and figures", verdict.invalid, "outputs: " + verdict.check);
  if (test.outcome == Outcome::good && verdict.check == "unchecked") {
    test.outcome = Outcome::skipped;
    test.message = "the outputs were not checked: give the plan a check";
  }
  return test;
}

TestCase of_level(const Verdict& verdict, const verdict::Level& level) {
  TestCase test{fmt::format("level {}: {}", level.number, level.id), Outcome::good, "", level.what};
  if (level.estimate) {
    const std::string against = held_against_text(level);
    test.message = fmt::format("{} ({}){}", ratio_text(level.estimate->ratio), interval_text(*level.estimate),
                               against.empty() ? "" : ", " + against);
    test.details += ": " + test.message;
  }
  switch (check_of(verdict, level)) {
    case LevelCheck::passes:
    case LevelCheck::informs: break;
    case LevelCheck::fails: test.outcome = Outcome::bad; break;
    case LevelCheck::undecided:
      test.outcome = Outcome::skipped;
      test.message = "undecided: " + test.message;
      break;
    case LevelCheck::unavailable:
      test.outcome = Outcome::skipped;
      test.message = "unavailable: " + level.reason + (level.advice.empty() ? "" : ". " + level.advice);
      break;
  }
  return test;
}

std::vector<TestCase> test_cases(const Verdict& verdict, bool passed) {
  std::vector<TestCase> all;
  all.push_back({"verdict", passed ? Outcome::good : Outcome::bad, verdict.headline,
                 "why: " + why_text(verdict) + "; to do: " + advice_text(verdict)});
  all.push_back(of_causes("measurement: records, machine, arms", verdict.refusals, "nothing stands against it"));
  all.push_back(of_kernel(verdict));
  all.push_back(of_causes("evidence: enough for more than likely", verdict.caps, "enough"));
  for (const verdict::Level& level : verdict.levels) {
    all.push_back(of_level(verdict, level));
  }
  if (passed) {  // accepted: what was found is told, and fails nothing
    for (TestCase& test : all) {
      test.outcome = test.outcome == Outcome::bad ? Outcome::skipped : test.outcome;
    }
  }
  return all;
}

size_t count(const std::vector<TestCase>& tests, Outcome outcome) {
  return static_cast<size_t>(std::ranges::count(tests, outcome, &TestCase::outcome));
}

std::string element(const TestCase& test) {
  std::string out = fmt::format("    <testcase classname=\"kvet\" name=\"{}\" time=\"0\"", xml_text(test.name));
  switch (test.outcome) {
    case Outcome::good:
      return out + fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n", xml_text(test.details));
    case Outcome::bad:
      return out + fmt::format(">\n      <failure type=\"kvet\" message=\"{}\">{}</failure>\n    </testcase>\n",
                               xml_text(test.message, 500), xml_text(test.details));
    case Outcome::skipped: break;
  }
  return out + fmt::format(">\n      <skipped message=\"{}\"/>\n      <system-out>{}</system-out>\n    </testcase>\n",
                           xml_text(test.message, 500), xml_text(test.details));
}

}  // namespace

std::string verdict_junit(const Verdict& verdict, bool passed) {
  const std::vector<TestCase> tests = test_cases(verdict, passed);
  const size_t failures = count(tests, Outcome::bad);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"kvet\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"0\">\n", tests.size(),
                     failures);
  out += fmt::format(
      "  <testsuite name=\"kvet verdict\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"0\">\n",
      tests.size(), failures, count(tests, Outcome::skipped));
  out += "    <properties>\n";
  const auto property = [&](const char* name, const std::string& value) {
    out += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml_text(value));
  };
  property("kvet.version", version());
  property("kvet.word", verdict::name(verdict.word));
  property("kvet.likely", verdict.likely ? "true" : "false");
  property("kvet.claim", verdict.claim ? ratio_text(*verdict.claim) : "none");
  property("kvet.basis", basis_text(verdict));
  out += "    </properties>\n";
  for (const TestCase& test : tests) {
    out += element(test);
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace kvet::report
