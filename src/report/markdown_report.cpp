// The report as Markdown: what must be known first, then per kernel one table; sentences and what is not known are folded away.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "report/finding_rows.h"
#include "report/format.h"
#include "report/markdown.h"
#include "report/names.h"
#include "report/report.h"

namespace kvet::report {
namespace {

constexpr size_t kernel_columns = 100;

std::string header(const CaptureReport& report) {
  const CaptureFacts& facts = report.facts;
  std::string out = "### " + markdown_code(facts.path, 120) + "\n\n";
  out += facts.tier.empty() ? "Tier unknown" : "Tier " + markdown_text(facts.tier, 40);
  out += facts.duration_ns ? ", " + format_value(static_cast<double>(*facts.duration_ns), "ns") + " recorded" : "";
  out += facts.complete ? ", complete" : ", **INCOMPLETE**";
  out += facts.lost == 0 ? ", nothing lost" : ", **" + plural(facts.lost, "event") + " lost**";
  if (facts.window_ns) {
    out += ", findings from " + format_value(facts.window_ns->low, "ns") + " to " +
           format_value(facts.window_ns->high, "ns");
  }
  for (const std::string& device : facts.devices) {
    out += ", " + markdown_text(device, 60);
  }
  out += fmt::format(". {}, {}, {}.", plural(facts.launches, "launch record"), plural(facts.executions, "execution"),
                     plural(facts.samples, "counter sample"));
  out += facts.counters.empty() ? "" : " Counters " + markdown_text(facts.counters, 300) + ".";
  out += facts.command.empty() ? "" : "\n\n" + markdown_commands({facts.command});
  return out + "\n";
}

std::string warnings(const CaptureReport& report) {
  std::string out;
  if (!report.facts.complete) {
    out += "> **The recorder did not finish**: the end of this capture is missing, and no verdict passes on it.\n\n";
  }
  for (const Finding& finding : report.findings) {
    if (is_warning(finding)) {
      out += "> " +
             with_advice(markdown_text(capitalised(finding.sentence)), markdown_text(capitalised(finding.advice))) +
             "\n\n";
    }
  }
  return out;
}

// One table for all questions, and behind it, folded: figures about single siblings, threads and ranks, what the figures mean, and which are
// not known.
class Section {
 public:
  // `fold`: what is about a sibling, a thread or a rank goes to a table of its own.
  explicit Section(bool fold) : fold_(fold) {}

  void add(std::string_view name, const Findings& findings) {
    for (const FindingRow& row : finding_rows(findings)) {
      const Finding& finding = *row.finding;
      const std::string label = markdown_text(label_of(finding));
      const std::string beside = !finding.beside.empty() ? markdown_code(short_name(finding.beside, 60))
                                 : finding.subject.starts_with("collectives:") ? markdown_text(finding.subject, 80)
                                                                               : "";
      Rows& rows = fold_ && !beside.empty() ? others_ : own_;
      rows.push_back({rows.empty() || name != last_ ? "**" + std::string(name) + "**" : "", label, beside,
                      markdown_text(value_of(row)), std::string(kvet::name(finding.evidence)),
                      format_count(finding.observations)});
      last_ = name;
      const std::string sentence = with_advice(markdown_text(finding.sentence), markdown_text(finding.advice));
      if (!sentence.empty() && told_.insert(sentence).second) {
        details_.append("- ").append(label).append(": ").append(sentence).append("\n");
      }
    }
    for (const UnavailableGroup& group : unavailable_groups(findings)) {
      details_ += "- " + markdown_text(group.labels) + " unavailable: " +
                  with_advice(markdown_text(group.finding->reason), markdown_text(group.finding->advice)) + "\n";
    }
  }
  [[nodiscard]] std::string text() const {
    std::string out = own_.empty() ? "" : table(own_) + "\n";
    out += others_.empty() ? "" : markdown_details("By sibling, thread and rank", table(others_));
    return out + (details_.empty() ? "" : markdown_details("What these mean, and what is not known", details_) + "\n");
  }

 private:
  using Rows = std::vector<std::vector<std::string>>;

  static std::string value_of(const FindingRow& row) {
    if (!row.distribution) {
      return row.value + (row.interval.empty() ? "" : " " + row.interval);
    }
    std::string value;
    for (size_t i = 0; i < row.statistic.size(); ++i) {
      if (!row.statistic[i].empty()) {
        value += fmt::format("{}{} {}", value.empty() ? "" : ", ", statistics[i], row.statistic[i]);
      }
    }
    return value;
  }
  // Without the column that nothing stands in.
  static std::string table(const Rows& rows) {
    const bool beside = std::ranges::any_of(rows, [](const auto& row) { return !row[2].empty(); });
    if (beside) {
      return markdown_table({"", "finding", "of or beside", "value", "evidence", "n"}, "000001", rows);
    }
    Rows narrow = rows;
    for (auto& row : narrow) {
      row.erase(row.begin() + 2);
    }
    return markdown_table({"", "finding", "value", "evidence", "n"}, "00001", narrow);
  }

  bool fold_;
  Rows own_, others_;
  std::string last_, details_;
  std::set<std::string> told_;
};

Findings of(const std::vector<Finding>& findings, Question question) {
  Findings own;
  for (const Finding& finding : findings) {
    if (finding.question == question) {
      own.push_back(&finding);
    }
  }
  return own;
}

std::string questions(const std::vector<Finding>& findings, std::string_view about_capture) {
  Section section(!about_capture.empty());
  for (const Question question : {Question::occupancy, Question::dram, Question::dispatch, Question::nccl}) {
    section.add(title(question), of(findings, question));
  }
  if (!about_capture.empty()) {
    section.add(about_capture, of(findings, Question::capture));
  }
  return section.text();
}

std::string capture_sentences(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding* finding : of(findings, Question::capture)) {
    if (!is_warning(*finding)) {
      out += "- " + markdown_text(label_of(*finding)) + ": " +
             (finding->value
                  ? markdown_text(finding->sentence)
                  : with_advice("unavailable: " + markdown_text(finding->reason), markdown_text(finding->advice))) +
             "\n";
    }
  }
  return out.empty() ? "" : markdown_details("About the capture", out) + "\n";
}

}  // namespace

std::string render_markdown(const std::vector<CaptureReport>& reports) {
  std::string out;
  for (const CaptureReport& report : reports) {
    out += (out.empty() ? "" : "\n") + header(report) + warnings(report) + capture_sentences(report.findings) +
           questions(report.findings, "");
    for (const KernelSection& kernel : report.kernels) {
      out += "#### " + markdown_code(short_name(kernel.name, kernel_columns), kernel_columns) + "\n\n";
      if (kernel.executions > 0) {
        out += fmt::format("{}, {}, {} of all kernels' time.\n\n", plural(kernel.executions, "execution"),
                           format_value(kernel.time_ns, "ns"), format_value(kernel.share_percent, "%"));
      }
      out += questions(kernel.findings, "Conditions");
    }
    if (report.kernels_left_out > 0) {
      out += fmt::format("{} with {} of the kernels' time left out.\n", plural(report.kernels_left_out, "more kernel"),
                         format_value(report.left_out_percent, "%"));
    }
  }
  return out;
}

}  // namespace kvet::report
