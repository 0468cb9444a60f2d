// Findings in rows, for the text and the Markdown report alike: findings that differ only in their statistic (p50, p90, p99,
// max) share a row; those that are unavailable for one reason share a group.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/finding_label.h"

namespace kvet::report {

using Findings = std::vector<const Finding*>;

struct FindingRow {
  const Finding* finding = nullptr;  // the first of the row: its sentence, evidence and observations speak for all
  bool distribution = false;
  std::string value, interval;  // of a single figure
  std::array<std::string, std::size(statistics)> statistic;  // of a distribution: "" where there is none
};
// Of those with a value, in their order.
[[nodiscard]] std::vector<FindingRow> finding_rows(const Findings& findings);

struct UnavailableGroup {
  std::string labels;  // safe
  const Finding* finding = nullptr;  // one of them: its reason and advice
};
[[nodiscard]] std::vector<UnavailableGroup> unavailable_groups(const Findings& findings);

[[nodiscard]] std::string_view title(Question question);

// "What was found. What to do.": `text` is safe or Markdown already, and so must `advice` be.
[[nodiscard]] std::string with_advice(std::string text, std::string advice);
[[nodiscard]] std::string capitalised(std::string text);
[[nodiscard]] std::string plural(uint64_t number, const char* thing);

// A finding about the capture that comes with advice is something to act on before any number is believed.
[[nodiscard]] bool is_warning(const Finding& finding);

}  // namespace kvet::report
