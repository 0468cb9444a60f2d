#include "cli/arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvet::cli {
namespace {

// A table of our own: what is tested is the reading of words, not which commands this build has.
constexpr Command table[] = {
    {"doctor", nullptr}, {"try", nullptr},     {"init", nullptr},    {"validate", nullptr}, {"record", nullptr},
    {"report", nullptr}, {"compare", nullptr}, {"kernels", nullptr}, {"sql", nullptr},      {"__sampler", nullptr},
    {"import", nullptr}, {"merge", nullptr},   {"export", nullptr},
};

auto parse(std::vector<const char*> words) {
  words.insert(words.begin(), "kvet");
  return parse_arguments(words, table);
}

template <class Specific>
Specific options(std::vector<const char*> words) {
  auto parsed = parse(std::move(words));
  if (!parsed) {
    ADD_FAILURE() << parsed.error().message();
    return {};
  }
  return std::get<Specific>(std::get<Invocation>(*parsed).options);
}

std::string refusal(std::vector<const char*> words) {
  auto parsed = parse(std::move(words));
  if (parsed) {
    ADD_FAILURE() << "was accepted";
    return {};
  }
  EXPECT_EQ(parsed.error().exit_status(), 64);
  return parsed.error().message();
}

std::string answer(std::vector<const char*> words) {
  auto parsed = parse(std::move(words));
  if (!parsed) {
    ADD_FAILURE() << parsed.error().message();
    return {};
  }
  return std::get<Answer>(*parsed).text;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Arguments, RecordTakesEverythingAfterTheDashes) {
  const auto record = options<RecordOptions>({"record", "-o",         "a.kvet", "--duration", "1.5s", "--delay",
                                              "20ms",   "--interval", "20us",   "--counters", "gpm",  "--tier",
                                              "device", "--meta",     "a=b=c",  "--meta",     "d=",   "--",
                                              "serve",  "--port",     "1",      "--",         "-o"});
  EXPECT_EQ(record.output, "a.kvet");
  EXPECT_EQ(record.duration_ns, 1'500'000'000);
  EXPECT_EQ(record.delay_ns, 20'000'000);
  EXPECT_EQ(record.interval_ns, 20'000);
  EXPECT_EQ(record.counters, CountersChoice::gpm);
  EXPECT_EQ(record.tier, TierChoice::device);
  EXPECT_EQ(record.meta, (std::vector<std::pair<std::string, std::string>>{{"a", "b=c"}, {"d", ""}}));
  EXPECT_EQ(record.command, (std::vector<std::string>{"serve", "--port", "1", "--", "-o"}));
  EXPECT_FALSE(record.pid);
  EXPECT_FALSE(record.discard);
}

TEST(Arguments, RecordNeedsOneTarget) {
  EXPECT_EQ(options<RecordOptions>({"record", "--pid", "17"}).pid, 17);
  EXPECT_TRUE(has(refusal({"record"}), "nothing to record"));
  EXPECT_TRUE(has(refusal({"record", "--"}), "nothing to record"));
  EXPECT_TRUE(has(refusal({"record", "--pid", "17", "--", "ls"}), "both --pid and a command"));
  EXPECT_TRUE(has(refusal({"record", "ls"}), "ls"));
  EXPECT_TRUE(has(refusal({"record", "--pid", "0"}), "--pid"));
  EXPECT_TRUE(has(refusal({"record", "--pid", "x"}), "--pid"));
}

TEST(Arguments, RecordRefusesWhatWouldBeLost) {
  // SQLite takes an empty name for a temporary file.
  EXPECT_TRUE(has(refusal({"record", "-o", "", "--", "ls"}), "-o: is empty"));
  for (const std::vector<const char*>& command :
       std::vector<std::vector<const char*>>{{"import", "a.sqlite", "-o", ""},
                                             {"merge", "a.kvet", "b.kvet", "-o", ""},
                                             {"export", "a.kvet", "--format", "csv", "-o", ""},
                                             {"compare", "a.kvet", "--against", "b.kvet", "-o", ""}}) {
    EXPECT_TRUE(has(refusal(command), "-o: is empty")) << command[0];
  }
  EXPECT_TRUE(has(refusal({"record", "--tier", "full", "--counters", "off", "--", "ls"}), "--tier device"));
}

TEST(Arguments, RecordRefusesUnknownWords) {
  EXPECT_TRUE(has(refusal({"record", "--counters", "nvml", "--", "ls"}), "pm|gpm|off"));
  EXPECT_TRUE(has(refusal({"record", "--tier", "best", "--", "ls"}), "unprivileged"));
  EXPECT_TRUE(has(refusal({"record", "--duration", "soon", "--", "ls"}), "'soon' is not a duration"));
  EXPECT_TRUE(has(refusal({"record", "--meta", "=b", "--", "ls"}), "key=value"));
  EXPECT_TRUE(has(refusal({"record", "--verbose", "--", "ls"}), "--verbose"));
}

TEST(Arguments, ReportReadsFilesKernelsAndWindow) {
  const auto report =
      options<ReportOptions>({"report", "a.kvet", "b.kvet", "--kernel", "x", "--kernel", "y", "--window", "1s,2500ms"});
  EXPECT_EQ(report.files, (std::vector<std::string>{"a.kvet", "b.kvet"}));
  EXPECT_EQ(report.kernels, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(report.window_ns, (std::pair<int64_t, int64_t>{1'000'000'000, 2'500'000'000}));
  EXPECT_EQ(report.format, ReportFormat::text);
  // A file after --kernel RE is a file, not a second pattern.
  EXPECT_EQ(options<ReportOptions>({"report", "--kernel", "x", "a.kvet"}).files, std::vector<std::string>{"a.kvet"});
  EXPECT_TRUE(has(refusal({"report"}), "FILE"));
  EXPECT_TRUE(has(refusal({"report", "a.kvet", "--window", "2s,1s"}), "ends before it begins"));
  EXPECT_TRUE(has(refusal({"report", "a.kvet", "--window", "2s"}), "FROM,TO"));
}

TEST(Arguments, CompareSplitsTheArms) {
  const auto compare = options<CompareOptions>({"compare", "a", "b", "--against", "c", "d", "--claim", "1.38", "--json",
                                                "--accept", "PARTIAL,INCONCLUSIVE", "-o", "out"});
  EXPECT_EQ(compare.baseline, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(compare.candidate, (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(compare.claim, 1.38);
  EXPECT_EQ(compare.accept, (std::vector<std::string>{"PARTIAL", "INCONCLUSIVE"}));
  EXPECT_EQ(compare.output, "out");
  EXPECT_EQ(compare.format, VerdictFormat::json);
  EXPECT_TRUE(has(refusal({"compare", "a", "--against", "b", "--claim", "38%"}), "1.38"));
  EXPECT_TRUE(has(refusal({"compare", "a", "--against", "b", "--accept", "FINE"}), "SURVIVES"));
  EXPECT_TRUE(has(refusal({"compare", "a"}), "--against"));
}

TEST(Arguments, TryAndValidateShareTheExperiment) {
  const auto tried = options<TryOptions>({"try", "--base", "X=1 run", "--cand", "run", "--claim", "1.2x", "--quads",
                                          "4", "--metric", "([0-9.]+) ms", "--lower-is-better", "--no-aa"});
  EXPECT_EQ(tried.baseline, "X=1 run");
  EXPECT_EQ(tried.candidate, "run");
  EXPECT_EQ(tried.claim, 1.2);
  EXPECT_EQ(tried.experiment.quads, 4U);
  EXPECT_TRUE(tried.experiment.no_aa);
  EXPECT_TRUE(tried.lower_is_better);
  const auto validate =
      options<ValidateOptions>({"validate", "plan.toml", "--dry-run", "--resume", "--max-time", "30m"});
  EXPECT_EQ(validate.plan, "plan.toml");
  EXPECT_TRUE(validate.experiment.dry_run);
  EXPECT_TRUE(validate.experiment.resume);
  EXPECT_EQ(validate.experiment.max_time_ns, 1800'000'000'000);
  EXPECT_TRUE(has(refusal({"validate"}), "PLAN"));
  EXPECT_TRUE(has(refusal({"validate", "p", "--quads", "0"}), "--quads"));
}

TEST(Arguments, InternalCommandsGetTheirWordsUntouched) {
  const auto internal = options<InternalOptions>({"__sampler", "--help", "--", "-x"});
  EXPECT_EQ(internal.arguments, (std::vector<std::string>{"--help", "--", "-x"}));
  EXPECT_FALSE(has(answer({"--help"}), "__sampler"));
}

TEST(Arguments, UnknownCommandNamesTheNearest) {
  EXPECT_TRUE(has(refusal({"valdiate", "p"}), "Did you mean `kvet validate`?"));
  EXPECT_TRUE(has(refusal({"frobnicate"}), "kvet --help"));
  EXPECT_TRUE(has(refusal({}), "no command"));
}

TEST(Arguments, HelpFitsThePage) {
  std::vector<std::string> pages{answer({"--help"})};
  for (const Command& command : table) {
    if (!command.name.starts_with("__")) {
      pages.push_back(answer({command.name.data(), "--help"}));
      EXPECT_EQ(pages.back(), answer({"help", command.name.data()}));
      EXPECT_TRUE(has(pages.back(), "Usage: kvet " + std::string(command.name))) << pages.back();
      EXPECT_TRUE(has(pages.front(), command.name));
    }
  }
  for (const std::string& page : pages) {
    size_t begin = 0;
    while (begin < page.size()) {
      const size_t end = page.find('\n', begin);
      EXPECT_LE(end - begin, 100U) << page.substr(begin, end - begin);
      begin = end + 1;
    }
  }
  EXPECT_FALSE(has(answer({"record", "--help"}), "--discard"));
  EXPECT_TRUE(answer({"--version"}).starts_with("kvet "));
}

// A command that is not in this build's table is as unknown as any other word.
TEST(Arguments, OnlyOffersWhatTheTableHas) {
  const char* words[] = {"kvet", "record", "--", "ls"};
  EXPECT_FALSE(parse_arguments(words, std::span(table).first(1)));
}

TEST(Arguments, SqlTakesParametersAndAFormat) {
  const auto sql = options<SqlOptions>(
      {"sql", "run.kvet", "SELECT :a", "--param", "a=b=c", "--param", "n=5", "--format", "jsonl", "--timeout", "2s"});
  EXPECT_EQ(sql.file, "run.kvet");
  EXPECT_EQ(sql.query, "SELECT :a");
  EXPECT_EQ(sql.parameters, (std::map<std::string, std::string>{{"a", "b=c"}, {"n", "5"}}));
  EXPECT_EQ(sql.format, SqlFormat::jsonl);
  EXPECT_EQ(sql.timeout_ns, 2'000'000'000);
  EXPECT_TRUE(has(refusal({"sql", "run.kvet", "SELECT 1", "--param", "=x"}), "NAME=VALUE"));
  EXPECT_TRUE(has(refusal({"sql", "run.kvet", "SELECT 1", "--format", "xml"}), "xml"));
}

TEST(Arguments, VerdictsComeInFiveFormats) {
  EXPECT_EQ(options<CompareOptions>({"compare", "a", "--against", "b"}).format, VerdictFormat::text);
  EXPECT_EQ(options<CompareOptions>({"compare", "a", "--against", "b", "--format", "markdown"}).format,
            VerdictFormat::markdown);
  EXPECT_EQ(options<ValidateOptions>({"validate", "p.toml", "--format", "sarif"}).experiment.format,
            VerdictFormat::sarif);
  EXPECT_EQ(options<TryOptions>({"try", "--base", "a", "--cand", "b", "--format", "junit"}).experiment.format,
            VerdictFormat::junit);
  EXPECT_EQ(options<ReportOptions>({"report", "a", "--json"}).format, ReportFormat::json);
  EXPECT_TRUE(has(refusal({"report", "a", "--format", "junit"}), "junit"));
  EXPECT_TRUE(has(refusal({"try", "--base", "a", "--cand", "b", "--format", "junit", "--json"}), "--json"));
}

}  // namespace
}  // namespace kvet::cli
