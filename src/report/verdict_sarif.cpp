#include "report/verdict_sarif.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/safe_text.h"
#include "base/version.h"
#include "report/finding_label.h"
#include "report/format.h"
#include "report/names.h"
#include "report/verdict_parts.h"

namespace kvet::report {
namespace {

using verdict::Cause;
using verdict::Verdict;

constexpr const char* schema_uri =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr size_t longest_message = 1000;

Json message(std::string_view raw) { return Json::object().set("text", safe_text(raw, longest_message)); }

// A URI reference (RFC 3986): relative stays relative, absolute becomes file://.
std::string uri_of(const std::string& path) {
  std::string out = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._~-").contains(c);
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

class Run {
 public:
  explicit Run(const std::string& artifact) {
    Json physical = Json::object();
    physical.set("artifactLocation", Json::object().set("uri", uri_of(artifact)));
    physical.set("region", Json::object().set("startLine", 1));
    physical_ = std::move(physical);
  }

  // The first result of a rule describes it.
  void add(const std::string& rule, const char* level, const std::string& what, const std::string& summary,
           const std::string& help, const std::string& kernel = "") {
    const auto [known, fresh] = index_.try_emplace(rule, index_.size());
    if (fresh) {
      Json described = Json::object();
      described.set("id", rule).set("shortDescription", message(summary));
      described.set("help", message(help.empty() ? "docs/findings.md and docs/verdict-schema.md define it." : help));
      described.set("defaultConfiguration", Json::object().set("level", level));
      rules_.push(std::move(described));
    }
    Json location = Json::object();
    location.set("physicalLocation", physical_);
    if (!kernel.empty()) {
      Json logical = Json::object();
      logical.set("name", short_name(kernel, 100)).set("kind", "function");
      location.set("logicalLocations", Json::array().push(std::move(logical)));
    }
    Json result = Json::object();
    result.set("ruleId", rule).set("ruleIndex", known->second).set("level", level).set("message", message(what));
    result.set("locations", Json::array().push(std::move(location)));
    // What makes a result the same as that of an earlier run: numbers change.
    result.set("partialFingerprints", Json::object().set("kvet/v1", rule + ":" + safe_text(kernel, 200)));
    results_.push(std::move(result));
  }
  void add_all(const char* kind, const char* level, const std::vector<Cause>& causes) {
    for (const Cause& cause : causes) {
      add(fmt::format("verdict.{}.{}", kind, cause.code), level,
          cause.what + (cause.fix.empty() ? "" : ". " + cause.fix), fmt::format("{}: {}", kind, cause.code), cause.fix);
    }
  }

  Json finish(const Verdict& verdict) {
    Json driver = Json::object();
    driver.set("name", "kvet").set("version", version()).set("rules", std::move(rules_));
    Json properties = Json::object();
    properties.set("word", verdict::name(verdict.word)).set("likely", verdict.likely).set("claim", verdict.claim);
    Json run = Json::object();
    run.set("tool", Json::object().set("driver", std::move(driver))).set("results", std::move(results_));
    run.set("columnKind", "unicodeCodePoints").set("properties", std::move(properties));
    return run;
  }

 private:
  Json physical_, rules_ = Json::array(), results_ = Json::array();
  std::map<std::string, size_t> index_;
};

void add_finding(Run& run, const Finding& finding) {
  std::string label = label_of(finding);
  label.erase(0, std::min(label.find_first_not_of(' '), label.size()));
  const std::string value = finding.value ? format_value(*finding.value, finding.unit) : "unavailable";
  run.add(finding.id, "note",
          fmt::format("{}: {}. {}", label, value, finding.value ? finding.sentence : finding.reason),
          fmt::format("{}: {}", name(finding.question), label), finding.advice,
          finding.question == Question::verdict ? "" : finding.subject);
}

}  // namespace

Json verdict_sarif(const Verdict& verdict, bool passed, const std::string& artifact) {
  Run run(!artifact.empty()                    ? artifact
          : verdict.captures_candidate.empty() ? "kvet"
                                               : verdict.captures_candidate.front());
  run.add("verdict.word", passed ? "note" : "error", verdict.headline + ". " + why_text(verdict),
          "What is left of the claim under load", advice_text(verdict));
  // What the gate lets through is no error.
  run.add_all("refused", passed ? "warning" : "error", verdict.refusals);
  run.add_all("invalid", passed ? "warning" : "error", verdict.invalid);
  run.add_all("capped", "warning", verdict.caps);
  run.add_all("caution", "note", verdict.cautions);
  for (const QuestionText& question : question_texts(verdict)) {
    for (const Finding* finding : question.findings) {
      add_finding(run, *finding);
    }
  }
  for (const Finding& finding : verdict.cost) {
    add_finding(run, finding);
  }
  Json root = Json::object();
  return root.set("$schema", schema_uri).set("version", "2.1.0").set("runs", Json::array().push(run.finish(verdict)));
}

}  // namespace kvet::report
