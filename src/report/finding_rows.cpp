#include "report/finding_rows.h"

#include <algorithm>

#include "report/format.h"

namespace kvet::report {

std::string plural(uint64_t number, const char* thing) {
  return format_count(number) + " " + thing + (number == 1 ? "" : "s");
}

std::string capitalised(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text;
}

std::string with_advice(std::string text, std::string advice) {
  if (!advice.empty()) {
    text += text.empty() ? "" : text.ends_with('.') ? " " : ". ";
    text += capitalised(std::move(advice));
  }
  return text;
}

bool is_warning(const Finding& finding) {
  return finding.question == Question::capture && finding.value && !finding.advice.empty();
}

std::string_view title(Question question) {
  switch (question) {
    case Question::occupancy: return "Occupancy";
    case Question::dram: return "DRAM";
    case Question::dispatch: return "Dispatch";
    case Question::nccl: return "NCCL";
    case Question::capture: return "Capture";
    case Question::verdict: return "Verdict";
  }
  return "?";
}

std::vector<FindingRow> finding_rows(const Findings& findings) {
  std::vector<FindingRow> rows;
  for (const Finding* finding : findings) {
    if (!finding->value) {
      continue;
    }
    const Stem stem = stem_of(finding->id);
    const auto which = static_cast<size_t>(std::find(std::begin(statistics), std::end(statistics), stem.statistic) -
                                           std::begin(statistics));
    const bool distribution = which < std::size(statistics);
    const bool goes_on = distribution && !rows.empty() && rows.back().distribution &&
                         stem_of(rows.back().finding->id).name == stem.name && rows.back().statistic[which].empty();
    if (!goes_on) {
      rows.push_back({finding, distribution, "", "", {}});
    }
    const std::string value = format_value(*finding->value, finding->unit);
    if (distribution) {
      rows.back().statistic[which] = value;
    } else {
      rows.back().value = value;
      rows.back().interval =
          finding->interval ? format_interval(*finding->interval, *finding->value, finding->unit) : "";
    }
  }
  return rows;
}

std::vector<UnavailableGroup> unavailable_groups(const Findings& findings) {
  std::vector<UnavailableGroup> groups;
  for (const Finding* finding : findings) {
    if (finding->value) {
      continue;
    }
    const auto known = std::ranges::find_if(groups, [&](const UnavailableGroup& group) {
      return group.finding->reason == finding->reason && group.finding->advice == finding->advice;
    });
    if (known == groups.end()) {
      groups.push_back({label_of(*finding), finding});
    } else {
      known->labels += ", " + label_of(*finding);
    }
  }
  return groups;
}

}  // namespace kvet::report
