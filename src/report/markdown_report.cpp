// The report as Markdown: what must be known first, then per kernel one table; sentences and what is not known are folded away.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/finding_rows.h"
#include "report/format.h"
#include "report/markdown.h"
#include "report/names.h"
#include "report/report.h"

namespace kvet::report {
namespace {

constexpr size_t kernel_columns = 100;
// A comment on GitHub holds 65,536 characters; bytes are never fewer, and who posts it adds a line or two.
constexpr size_t most_bytes = 60'000;
// Siblings, threads or ranks per figure, in the order of the findings: who was met most often comes first. What is computed from
// launch parameters alone is of less interest than what was seen.
constexpr size_t most_modelled = 3, most_seen = 8;

// What is left out where all would be too long.
enum class Extent : uint8_t { all, without_sentences, without_others };

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
  Section(bool fold, Extent extent, std::set<std::string>& told) : fold_(fold), extent_(extent), told_(told) {}

  void add(std::string_view name, const Findings& findings) {
    for (const FindingRow& row : finding_rows(findings)) {
      const Finding& finding = *row.finding;
      const std::string label = markdown_text(label_of(finding));
      const std::string beside = !finding.beside.empty() ? markdown_code(short_name(finding.beside, 60))
                                 : finding.subject.starts_with("collectives:") ? markdown_text(finding.subject, 80)
                                                                               : "";
      const bool other = fold_ && !beside.empty();
      if (other && ++shown_[finding.id] > (finding.evidence == Evidence::modelled ? most_modelled : most_seen)) {
        ++left_out_;
        continue;
      }
      Rows& rows = other ? others_ : own_;
      rows.push_back({rows.empty() || name != last_ ? "**" + std::string(name) + "**" : "", label, beside,
                      markdown_text(value_of(row)), std::string(kvet::name(finding.evidence)),
                      format_count(finding.observations)});
      last_ = name;
      const std::string sentence = with_advice(markdown_text(finding.sentence), markdown_text(finding.advice));
      // Of several siblings, threads or ranks the first one's: the others' are the same with the figures of the table.
      if (!sentence.empty() && (!other || shown_[finding.id] == 1) && told_.insert(sentence).second) {
        details_.append("- ").append(label).append(": ").append(sentence).append("\n");
      }
    }
    for (const UnavailableGroup& group : unavailable_groups(findings)) {
      const std::string line = "- " + markdown_text(group.labels) + " unavailable: " +
                               with_advice(markdown_text(group.finding->reason), markdown_text(group.finding->advice)) +
                               "\n";
      details_ += told_.insert(line).second ? line : "";
    }
  }
  [[nodiscard]] std::string text() const {
    std::string out = own_.empty() ? "" : table(own_) + "\n";
    if (!others_.empty() && extent_ != Extent::without_others) {
      out += markdown_details(
          "By sibling, thread and rank",
          table(others_) +
              (left_out_ == 0 ? "" : fmt::format("\n{} in `kvet report --json`.\n", plural(left_out_, "more row"))));
    }
    return details_.empty() || extent_ != Extent::all
               ? out
               : out + markdown_details("What these mean, and what is not known", details_) + "\n";
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
  Extent extent_;
  std::map<std::string, size_t> shown_;  // by id
  uint64_t left_out_ = 0;
  Rows own_, others_;
  std::string last_, details_;
  std::set<std::string>& told_;
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

std::string questions(const std::vector<Finding>& findings, std::string_view about_capture, Extent extent,
                      std::set<std::string>& told) {
  Section section(!about_capture.empty(), extent, told);
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

std::string render(const std::vector<CaptureReport>& reports, Extent extent) {
  std::string out;
  for (const CaptureReport& report : reports) {
    std::set<std::string> told;  // a sentence that a kernel shares with one before is told there
    out += (out.empty() ? "" : "\n") + header(report) + warnings(report) + capture_sentences(report.findings) +
           questions(report.findings, "", extent, told);
    for (const KernelSection& kernel : report.kernels) {
      out += "#### " + markdown_code(short_name(kernel.name, kernel_columns), kernel_columns) + "\n\n";
      if (kernel.executions > 0) {
        out += fmt::format("{}, {}, {} of all kernels' time.\n\n", plural(kernel.executions, "execution"),
                           format_value(kernel.time_ns, "ns"), format_value(kernel.share_percent, "%"));
      }
      out += questions(kernel.findings, "Conditions", extent, told);
    }
    if (report.kernels_left_out > 0) {
      out += fmt::format("{} with {} of the kernels' time left out.\n", plural(report.kernels_left_out, "more kernel"),
                         format_value(report.left_out_percent, "%"));
    }
  }
  return out;
}

}  // namespace

std::string render_markdown(const std::vector<CaptureReport>& reports) {
  std::string out = render(reports, Extent::all);
  for (const auto& [extent, what] :
       {std::pair{Extent::without_sentences, "what the figures mean"},
        std::pair{Extent::without_others, "that and the figures by sibling, thread and rank"}}) {
    if (out.size() <= most_bytes) {
      break;
    }
    out = render(reports, extent) +
          fmt::format("\nLeft out, since a comment holds no more: {}. `kvet report` has it.\n", what);
  }
  return out;
}

}  // namespace kvet::report
