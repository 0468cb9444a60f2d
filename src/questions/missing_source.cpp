#include "questions/missing_source.h"

#include "questions/make_finding.h"

namespace kvet::questions {
namespace {

constexpr std::string_view prefix = "source.", advice_suffix = ".advice";

void add(std::vector<Finding>& findings, std::string name, Missing missing) {
  Finding finding = unavailable(Question::capture, "quality.source", "", "flag", std::move(missing.reason),
                                missing.advice.empty() ? "record again with it" : std::move(missing.advice));
  finding.beside = std::move(name);
  findings.push_back(std::move(finding));
}

}  // namespace

Missing missing_source(const Capture& capture, std::string_view name, Missing otherwise) {
  const std::string key = std::string(prefix) + std::string(name);
  const std::string_view reason = capture.fact(key);
  if (reason.empty()) {
    return otherwise;
  }
  const std::string_view advice = capture.fact(key + std::string(advice_suffix));
  return {std::string(reason), advice.empty() ? std::move(otherwise.advice) : std::string(advice)};
}

Missing missing_counters(const Capture& capture, Missing otherwise) {
  const std::string_view status = capture.fact("counters.status");
  const std::string_view advice = capture.fact("counters.advice");
  return {status.empty() || status == "ok" ? std::move(otherwise.reason) : std::string(status),
          advice.empty() ? std::move(otherwise.advice) : std::string(advice)};
}

void add_missing_sources(std::vector<Finding>& findings, const Capture& capture) {
  for (auto fact = capture.meta.lower_bound(prefix); fact != capture.meta.end() && fact->first.starts_with(prefix);
       ++fact) {
    if (!fact->first.ends_with(advice_suffix)) {
      const std::string name = fact->first.substr(prefix.size());
      add(findings, name, missing_source(capture, name, {}));
    }
  }
  if (const std::string_view advice = capture.fact("counters.advice"); !advice.empty()) {
    add(findings, "counters", missing_counters(capture, {"the file holds no counters", ""}));
  }
}

void add_messages(std::vector<Finding>& findings, const Capture& capture) {
  constexpr std::string_view key = "import.message.";
  for (auto fact = capture.meta.lower_bound(key); fact != capture.meta.end() && fact->first.starts_with(key); ++fact) {
    findings.push_back(found(Question::capture, "quality.message", "", 1, "flag", Evidence::measured, 1,
                             "The tool that made the file said: " + fact->second));
  }
}

}  // namespace kvet::questions
