#include "validate/plan.h"

#include <gtest/gtest.h>

#include "validate/metric.h"
#include "validate/ready.h"

namespace kvet::validate {
namespace {

const std::string smallest = R"(
claim = 1.38
[workload]
server = "python serve.py --port 8000"
ready  = "http://127.0.0.1:8000/health"
load   = "python load.py --port 8000 --requests 400 --seed 1"
metric = { regex = 'throughput: ([0-9.]+) tok/s', better = "higher" }
[baseline]
env = { NORM = "stock" }
[candidate]
env   = { NORM = "generated" }
check = "python check_norm.py"
)";

Result<Plan> parse(const std::string& text) { return parse_plan(text, "plan.toml", "/somewhere"); }
std::string with(const std::string& from, const std::string& to) {
  std::string text = smallest;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
std::string message_of(const std::string& text) {
  auto plan = parse(text);
  if (plan) {
    return "accepted";
  }
  EXPECT_EQ(plan.error().exit_status(), 64);
  return plan.error().message();
}
#define EXPECT_SAYS(text, part) EXPECT_NE(message_of(text).find(part), std::string::npos) << message_of(text)

TEST(Plan, SmallestUsefulOne) {
  auto plan = parse(smallest);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_DOUBLE_EQ(*plan->claim, 1.38);
  EXPECT_EQ(*plan->server, "python serve.py --port 8000");
  EXPECT_EQ(plan->metric->regex, "throughput: ([0-9.]+) tok/s");
  EXPECT_TRUE(plan->metric->higher_is_better);
  EXPECT_EQ(plan->baseline.environment, (Environment{{"NORM", "stock"}}));
  EXPECT_EQ(*plan->candidate.check, "python check_norm.py");
  EXPECT_FALSE(plan->isolated);
  EXPECT_EQ(plan->folder, "/somewhere");
}

TEST(Plan, TheTemplateIsAPlan) {
  auto plan = parse(plan_template);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_DOUBLE_EQ(*plan->claim, 1.38);
}

TEST(Plan, EveryKeyOfTheTemplateIsKnown) {
  // The template with its comments opened: keys that are explained must exist.
  std::string text, line;
  for (char letter : std::string(plan_template)) {
    line += letter;
    if (letter == '\n') {
      const bool key = line.starts_with("# ") && line.find(" = ") != std::string::npos &&
                       line.find("run = \"python train") == std::string::npos &&
                       line.find("warmup = \"python load") == std::string::npos;
      const bool section = line.starts_with("# [");
      text += key || section ? line.substr(2) : line;
      line.clear();
    }
  }
  auto plan = parse(text);
  ASSERT_TRUE(plan) << plan.error().message() << text;
  EXPECT_EQ(plan->kernels.size(), 2U);
  EXPECT_EQ(plan->warmup_ns, 5'000'000'000);
  EXPECT_EQ(plan->timeout_ns, 1'800'000'000'000);
  EXPECT_EQ(*plan->isolated->run, "python bench_norm.py");
  EXPECT_FALSE(plan->isolated->metric.higher_is_better);
  EXPECT_EQ(*plan->device, "0");
  EXPECT_DOUBLE_EQ(plan->overhead_budget, 0.05);
  EXPECT_EQ(plan->max_time_ns, 3'600'000'000'000);
}

TEST(Plan, UnknownKeysNameTheNearestWithTheLine) {
  EXPECT_SAYS(with("claim =", "cliam ="), "plan.toml:2: unknown key 'cliam'. did you mean 'claim'?");
  EXPECT_SAYS(with("ready  =", "raedy  ="), "plan.toml:5: unknown key 'workload.raedy'. did you mean 'ready'?");
  EXPECT_SAYS(with("better =", "beter ="), "plan.toml:7: unknown key 'metric.beter'. did you mean 'better'?");
  EXPECT_SAYS(smallest + "zzzzzzzz = 1\n", "unknown key 'candidate.zzzzzzzz'. known here: env, check");
}

TEST(Plan, APercentageIsRefusedWithBothReadings) {
  EXPECT_SAYS(with("1.38", "\"38%\""), "1.38");
  EXPECT_SAYS(with("1.38", "\"38%\""), "1.61");
  EXPECT_SAYS(with("1.38", "\"38%\""), "plan.toml:2");
}

TEST(Plan, ClaimsThatCannotBeVetted) {
  EXPECT_SAYS(with("1.38", "1.02"), "too small");
  EXPECT_SAYS(with("1.38", "-1"), "positive");
  EXPECT_SAYS(with("claim = 1.38\n", ""), "no claim");
  EXPECT_SAYS(with("1.38", "true"), "'claim' is not a number");
}

TEST(Plan, WrongTypesSayWhatIsWanted) {
  EXPECT_SAYS(with("\"stock\"", "1"), "'baseline.env.NORM' is not a text");
  EXPECT_SAYS(with("\"higher\"", "\"up\""), "none of higher, lower");
  EXPECT_SAYS(with("([0-9.]+)", "[0-9.]+"), "has 0 groups");
  EXPECT_SAYS(with("([0-9.]+)", "([0-9.+"), "not a regular expression");
  EXPECT_SAYS(with("[workload]\n", "[workload]\ntimeout = \"soon\"\n"), "plan.toml:4: 'workload.timeout'");
  EXPECT_SAYS("claim = ", "not TOML");
}

TEST(Plan, WhatWouldFailAfterTheFirstBlocksFailsBefore) {
  EXPECT_SAYS("kernels = [\"norm\", \"(\"]\n" + smallest, "(: is not a regular expression");
  EXPECT_SAYS("kernels = [\"\"]\n" + smallest, "an empty pattern");
  EXPECT_SAYS(with("[baseline]\n", "step = \"[\"\n[baseline]\n"), "[: is not a regular expression");
  EXPECT_SAYS(smallest + "[gpu]\ninterval = \"soon\"\n", "'soon' is not a duration");
  EXPECT_SAYS(smallest + "[gpu]\ninterval = \"1us\"\n", "2us to 1s are possible");
  EXPECT_SAYS(smallest + "[gpu]\ninterval = \"2s\"\n", "2us to 1s are possible");
  EXPECT_SAYS(with("[workload]\n", "[workload]\ntimeout = \"0s\"\n"), "a timeout of no time at all");
  EXPECT_SAYS(with("[workload]\n", "[workload]\nready_timeout = \"0s\"\n"), "a timeout of no time at all");
  EXPECT_SAYS(with("\"stock\"", "\"a\\u0000b\""), "'baseline.env.NORM' cannot be an environment variable");
  EXPECT_SAYS(with("\"python check_norm.py\"", "\"a\\u0000b\""), "holds a zero byte");
  EXPECT_SAYS(with("'throughput: ([0-9.]+) tok/s'", "'(" + std::string(100'000, 'a') + ")'"), "too long for a pattern");
}

TEST(Plan, AFileThatNeverEnds) {
  auto plan = read_plan("/dev/zero");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message(), "/dev/zero: not a file. `kvet init` writes a plan");
}

TEST(Plan, PartsThatContradictEachOther) {
  EXPECT_SAYS(with("load   =", "run ="), "both a server and a run command");
  EXPECT_SAYS(with("ready  = \"http://127.0.0.1:8000/health\"\n", ""), "a server needs ready");
  EXPECT_SAYS(with("\"generated\"", "\"stock\""), "the arms do not differ");
  EXPECT_SAYS(with("127.0.0.1:8000", "example.com"), "not on this machine");
  EXPECT_SAYS(smallest + "[isolated]\nrun = \"bench\"\n", "[isolated] has no metric");
}

TEST(Plan, AFileThatIsNotThere) {
  auto plan = read_plan("/nowhere/plan.toml");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().exit_status(), 65);
}

TEST(Metric, TheLastMatchCounts) {
  MetricRule rule{"throughput: ([0-9.]+) tok/s", true};
  EXPECT_DOUBLE_EQ(*find_metric(rule, "throughput: 1.5 tok/s\nwarm\nthroughput: 1234.25 tok/s\nbye\n", "x"), 1234.25);
  auto missing = find_metric(rule, "one\nlast words\n\n", "ab-00-0-baseline");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("its last line was: last words"), std::string::npos);
  EXPECT_FALSE(find_metric({"v=([a-z]+)", true}, "v=abc", "x"));
  EXPECT_FALSE(find_metric(rule, "throughput: 0 tok/s", "x"));
}

TEST(Metric, AnEndlessLineDoesNotExhaustTheStack) {
  EXPECT_FALSE(find_metric({"(.*)*x([0-9]+)?y"}, std::string(5'000'000, 'a'), "x"));
  EXPECT_FALSE(find_metric({"t: ([0-9]+) s"}, std::string(5'000'000, '1'), "x"));
}

TEST(ReadyUrl, Parts) {
  auto url = parse_ready_url("http://127.0.0.1:8000/health?deep=1");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "127.0.0.1");
  EXPECT_EQ(url->port, 8000);
  EXPECT_EQ(url->path, "/health?deep=1");
  EXPECT_EQ(parse_ready_url("http://localhost")->port, 80);
  EXPECT_EQ(parse_ready_url("http://[::1]:9/x")->host, "::1");
  for (const char* bad : {"https://127.0.0.1/", "http://8.8.8.8/", "http://127.0.0.1:0/", "http://127.0.0.1:99999/",
                          "ftp://x", "", "http://127.0.0.1:80/a b"}) {
    EXPECT_FALSE(parse_ready_url(bad)) << bad;
  }
}

}  // namespace
}  // namespace kvet::validate
