#include "report/report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "base/safe_text.h"

namespace kvet::report {
namespace {

Finding found(Question question, const char* id, double value, const char* unit, uint64_t observations) {
  Finding finding;
  finding.id = id;
  finding.question = question;
  finding.subject = "_Z8rms_normPf";
  finding.value = value;
  finding.unit = unit;
  finding.observations = observations;
  finding.evidence = Evidence::measured;
  return finding;
}

Finding missing(Question question, const char* id, const char* reason, const char* advice) {
  Finding finding;
  finding.id = id;
  finding.question = question;
  finding.reason = reason;
  finding.advice = advice;
  return finding;
}

// A small report with one of everything.
CaptureReport planted() {
  CaptureReport report;
  report.facts.path = "run.kvet";
  report.facts.complete = true;
  report.facts.tier = "full";
  report.facts.command = "python serve.py";
  report.facts.devices = {"NVIDIA H200"};
  report.facts.duration_ns = 20'000'000'000;
  report.facts.processes = 3;
  report.facts.launches = 1;
  report.facts.executions = 50'000;
  KernelSection kernel;
  kernel.name = "_Z8rms_normPf";
  kernel.executions = 50'000;
  kernel.time_ns = 412'345'678;
  kernel.share_percent = 12.345;
  Finding solo = found(Question::occupancy, "occupancy.solo", 61.27, "%", 4'711);
  solo.interval = Interval{60.5, 62};
  solo.evidence = Evidence::attributed;
  solo.sentence = "Warps while nothing else ran";
  kernel.findings.push_back(solo);
  kernel.findings.push_back(missing(Question::dram, "dram.solo", "no counter samples", "record with --counters pm"));
  kernel.findings.push_back(
      missing(Question::dram, "dram.saturated", "no counter samples", "record with --counters pm"));
  for (const auto& [id, value] : {std::pair{"dispatch.eager.lead.p50", 1'234.0},
                                  {"dispatch.eager.lead.p90", 45'600.0},
                                  {"dispatch.eager.lead.p99", -7.0},
                                  {"dispatch.eager.lead.max", 2.5e9}}) {
    Finding lead = found(Question::dispatch, id, value, "ns", 49'999);
    lead.beside = "thread 7 of python";
    lead.sentence = "How far ahead the call was";
    kernel.findings.push_back(lead);
  }
  report.kernels.push_back(kernel);
  report.kernels_left_out = 17;
  report.left_out_percent = 3.21;
  return report;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string line_with(const std::string& text, std::string_view part) {
  for (const std::string& line : lines_of(text)) {
    if (has(line, part)) {
      return line;
    }
  }
  ADD_FAILURE() << "no line with " << part;
  return {};
}

TEST(RenderText, EveryFactOfASmallReportIsThere) {
  const std::string text = render_text({planted()}, {});
  EXPECT_TRUE(text.starts_with("run.kvet\n  tier full, 20.0 s recorded, complete, nothing lost\n")) << text;
  EXPECT_TRUE(has(text, "NVIDIA H200; 3 processes, 1 launch, 50,000 executions, 0 copies, 0 counter"));
  EXPECT_TRUE(has(text, "  $ python serve.py\n"));
  EXPECT_TRUE(has(text, "\nrms_norm\n  50,000 executions, 412 ms, 12.3 % of all kernels' time\n"));
  const std::string solo = line_with(text, "61.3 %");
  EXPECT_TRUE(has(solo, "solo ") && has(solo, "[60.5, 62.0]") && has(solo, "attributed") && solo.ends_with("4,711"))
      << solo;
  EXPECT_TRUE(has(text, "Warps while nothing else ran"));
  EXPECT_TRUE(has(text, "solo, saturated unavailable: no counter samples. Record with --counters pm"));
  EXPECT_TRUE(has(text, "    thread 7 of python\n"));
  EXPECT_TRUE(has(text, "17 more kernels with 3.21 % of the kernels' time left out"));
}

TEST(RenderText, PercentilesShareALineUnderTheirHeads) {
  const std::string text = render_text({planted()}, {});
  const std::string head = line_with(text, "  Dispatch");
  const std::string line = line_with(text, "eager lead");
  for (const auto& [statistic, value] :
       {std::pair{"p50", "1.23 µs"}, {"p90", "45.6 µs"}, {"p99", "-7 ns"}, {"max", "2.50 s"}}) {
    const size_t head_end = display_width(head.substr(0, head.find(statistic) + 3));
    const size_t at = line.find(value);
    ASSERT_NE(at, std::string::npos) << line;
    EXPECT_EQ(display_width(line.substr(0, at + std::string(value).size())), head_end)
        << "right-aligned under " << statistic;
  }
  EXPECT_TRUE(line.ends_with("49,999"));
  size_t sentences = 0;
  for (const std::string& each : lines_of(text)) {
    sentences += has(each, "How far ahead the call was") ? 1 : 0;
  }
  EXPECT_EQ(sentences, 1u) << "said once, not per percentile";
}

TEST(RenderText, WarningsStandAboveEverythingElse) {
  CaptureReport report = planted();
  report.facts.complete = false;
  report.facts.lost = 1'234;
  Finding lost = found(Question::capture, "quality.losses", 1'234, "records", 1);
  lost.sentence = "1234 records were lost";
  lost.advice = "record with a larger ring";
  report.findings = {lost, missing(Question::capture, "quality.blocks", "no samples", "record with counters")};
  const std::string text = render_text({report}, {});
  EXPECT_TRUE(has(text, "INCOMPLETE, 1,234 events LOST"));
  const size_t incomplete = text.find("! The recorder did not finish"),
               losses = text.find("! 1234 records were lost. Record");
  ASSERT_NE(incomplete, std::string::npos) << text;
  ASSERT_NE(losses, std::string::npos) << text;
  EXPECT_LT(losses, text.find("rms_norm"));
  EXPECT_FALSE(has(text, "! blocks")) << "what is merely unknown is no warning";
  EXPECT_TRUE(has(text, "blocks: unavailable: no samples. Record with counters"));
}

TEST(RenderText, ColourIsOnlyThereWhenAskedFor) {
  EXPECT_FALSE(has(render_text({planted()}, {100, false}), "\033"));
  const std::string text = render_text({planted()}, {100, true});
  EXPECT_TRUE(has(text, "\033[1mrms_norm\033[0m"));
}

// Every text that comes from a capture, hostile; every number, extreme.
TEST(RenderText, NothingGetsPastTheWidthOrOntoTheTerminal) {
  const std::string hostile = std::string("\x1b[2J\n\r<script>\xff 核核") + std::string(5'000, 'w') + "\x07";
  CaptureReport report = planted();
  report.facts.path = report.facts.tier = report.facts.command = report.facts.counters = hostile;
  report.facts.devices = {hostile, hostile};
  report.facts.executions = report.facts.lost = report.facts.samples = std::numeric_limits<uint64_t>::max();
  KernelSection& kernel = report.kernels.front();
  kernel.name = hostile;
  kernel.time_ns = 1e300;
  kernel.share_percent = std::numeric_limits<double>::quiet_NaN();
  for (Finding& finding : kernel.findings) {
    finding.subject = finding.beside = finding.sentence = finding.reason = finding.advice = hostile;
    finding.unit = finding.value ? hostile : finding.unit;
    finding.observations = std::numeric_limits<uint64_t>::max();
    finding.interval = Interval{-1e300, std::numeric_limits<double>::infinity()};
  }
  Finding odd = found(Question::nccl, "nccl", 1e300, "ns", 0);
  odd.id = hostile;
  odd.subject = "collectives" + hostile;
  kernel.findings.push_back(odd);
  report.findings.push_back(odd);
  for (size_t width : {80u, 100u, 140u}) {
    for (const std::string& line : lines_of(render_text({report}, {width, false}))) {
      EXPECT_LE(display_width(line), width) << line;
      EXPECT_EQ(line, safe_text(line)) << "must be fit for a terminal";
    }
  }
}

std::string under(std::string where, const std::string& key) { return where.append(".").append(key); }

// A check of required keys and types, enough for docs/report.schema.json: type, required, properties, items, enum,
// const, and the one reference that it has.
std::string violation(const Json& root, const Json& given, const Json& value, const std::string& where) {
  const Json& schema = given["$ref"].string() == "#/$defs/finding" ? root["$defs"]["finding"] : given;
  auto is = [&](std::string_view type) {
    return type == "object"    ? value.is_object()
           : type == "array"   ? value.is_array()
           : type == "string"  ? value.is_string()
           : type == "boolean" ? value.is_boolean()
           : type == "integer" ? value.is_integer()
           : type == "number"  ? value.is_number()
                               : type == "null" && value.is_null();
  };
  const Json& type = schema["type"];
  bool fits = type.is_null() || (type.is_string() && is(*type.string()));
  for (const Json& each : type.elements()) {
    fits = fits || is(*each.string());
  }
  if (!fits) {
    return where + " has the wrong type";
  }
  if (schema.contains("const") && schema["const"].string() != value.string()) {
    return where + " is not " + schema["const"].dump();
  }
  if (schema.contains("enum")) {
    bool listed = false;
    for (const Json& each : schema["enum"].elements()) {
      listed = listed || each.string() == value.string();
    }
    if (!listed) {
      return where + " is not in the enumeration";
    }
  }
  for (const Json& key : value.is_object() ? schema["required"].elements() : Json::Array{}) {
    if (!value.contains(*key.string())) {
      return where + " lacks " + std::string(*key.string());
    }
  }
  if (value.is_object()) {
    for (const auto& [key, member] : value.members()) {
      if (!schema["properties"].contains(key)) {
        return under(where, key) + " is undocumented";
      }
      if (std::string text = violation(root, schema["properties"][key], member, under(where, key)); !text.empty()) {
        return text;
      }
    }
  }
  for (const Json& element : value.elements()) {
    if (std::string text = violation(root, schema["items"], element, under(where, "each")); !text.empty()) {
      return text;
    }
  }
  return {};
}

Json schema() {
  std::ifstream file(std::string(KVET_SOURCE_DIR) + "/docs/report.schema.json");
  std::ostringstream text;
  text << file.rdbuf();
  auto parsed = Json::parse(text.str(), "docs/report.schema.json");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? *parsed : Json();
}

TEST(RenderJson, FollowsTheDocumentedSchema) {
  const Json documented = schema();
  const Json report = render_json({planted(), CaptureReport{}}, "0.1.0");
  EXPECT_EQ(violation(documented, documented, report, "report"), "");
  // What a program reads after a round trip through text.
  const auto back = Json::parse(report.dump(2), "report");
  ASSERT_TRUE(back);
  EXPECT_EQ(violation(documented, documented, *back, "report"), "");
  const auto& kernel = (*back)["captures"].elements()[0]["kernels"].elements()[0];
  EXPECT_EQ(kernel["short_name"].string(), "rms_norm");
  EXPECT_EQ(kernel["findings"].elements()[0]["interval"]["high"].number(), 62);
  EXPECT_TRUE(kernel["findings"].elements()[1]["value"].is_null());
  EXPECT_EQ(kernel["findings"].elements()[1]["evidence"].string(), "unavailable");
}

TEST(RenderJson, TheCheckItselfFindsFaults) {
  const Json documented = schema();
  Json wrong = render_json({planted()}, "0.1.0");
  wrong.set("extra", 1);
  EXPECT_NE(violation(documented, documented, wrong, "report").find("undocumented"), std::string::npos);
  Json no_captures = Json::object();
  no_captures.set("schema", "kvet.report/1").set("kvet_version", "0.1.0");
  EXPECT_NE(violation(documented, documented, no_captures, "report").find("lacks captures"), std::string::npos);
  no_captures.set("captures", "none");
  EXPECT_NE(violation(documented, documented, no_captures, "report").find("wrong type"), std::string::npos);
  Json version = render_json({}, "0.1.0");
  version.set("schema", "kvet.report/2");
  EXPECT_NE(violation(documented, documented, version, "report").find("is not"), std::string::npos);
}

}  // namespace
}  // namespace kvet::report
