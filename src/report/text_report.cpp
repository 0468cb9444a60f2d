// The report as text. One line per finding; findings that differ only in their statistic (p50, p90, p99, max) share a
// line; findings that are unavailable for one reason share a paragraph. Columns at the default width of 100:
//
//     label (36)                            4 × number (10)                     evidence (11)    n (11)
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "report/format.h"
#include "report/layout.h"
#include "report/names.h"
#include "report/report.h"
#include "report/safe_text.h"

namespace kvet::report {
namespace {

constexpr size_t number_columns = 10, evidence_columns = 12, count_columns = 12, label_indent = 4;
constexpr std::string_view statistics[] = {"p50", "p90", "p99", "max"};
// Enough for every unit; a hostile one is cut.
constexpr size_t longest_sentence = 1000;

struct Stem {
  std::string_view name, statistic;  // "dispatch.lead", "p50"; statistic "" where there is none
};
Stem stem_of(std::string_view id) {
  const size_t dot = id.rfind('.');
  if (dot != std::string_view::npos &&
      std::find(std::begin(statistics), std::end(statistics), id.substr(dot + 1)) != std::end(statistics)) {
    return {id.substr(0, dot), id.substr(dot + 1)};
  }
  return {id, ""};
}

// "dispatch.eager.launch_cost.off_cpu" gives "eager launch cost off CPU".
std::string label_of(const Finding& finding) {
  std::string_view id = stem_of(finding.id).name;
  const std::string_view question = name(finding.question);
  if (id.starts_with(question) && id.size() > question.size() && id[question.size()] == '.') {
    id.remove_prefix(question.size() + 1);
  }
  std::string label;
  std::string word;
  auto flush = [&] {
    if (word == "cpu" || word == "gpu" || word == "sm" || word == "dram" || word == "nccl") {
      std::transform(word.begin(), word.end(), word.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    }
    label += (label.empty() || word.empty() ? "" : " ") + word;
    word.clear();
  };
  for (char c : id) {
    if (c == '.' || c == '_') {
      flush();
    } else {
      word += c;
    }
  }
  flush();
  return safe_text(label, 200);
}

std::string beside_of(const Finding& finding) { return finding.beside.empty() ? "" : short_name(finding.beside, 60); }

class Renderer {
 public:
  Renderer(const RenderOptions& options) : page_(std::max<size_t>(options.width, 80), options.colour) {}

  std::string render(const std::vector<CaptureReport>& reports) {
    for (const CaptureReport& report : reports) {
      if (!page_.text().empty()) {
        page_.blank();
      }
      header(report);
      warnings(report);
      questions(report.findings, true);
      kernels(report);
    }
    return page_.text();
  }

 private:
  [[nodiscard]] size_t label_columns() const {
    return page_.width() - label_indent - 4 * number_columns - evidence_columns - count_columns;
  }

  void header(const CaptureReport& report) {
    const CaptureFacts& facts = report.facts;
    page_.paragraph(safe_text(facts.path, 400), "", "  ", Style::bold);
    std::string first =
        facts.tier.empty() ? "tier unknown (not recorded by kvet)" : "tier " + safe_text(facts.tier, 40);
    first += facts.duration_ns ? ", " + format_value(static_cast<double>(*facts.duration_ns), "ns") + " recorded" : "";
    first += facts.complete ? ", complete" : ", INCOMPLETE";
    first += facts.lost == 0 ? ", nothing lost" : ", " + format_count(facts.lost) + " events LOST";
    page_.paragraph(first, "  ", "  ");
    std::string devices;
    for (const std::string& device : facts.devices) {
      devices += (devices.empty() ? "" : ", ") + safe_text(device, 60);
    }
    page_.paragraph((devices.empty() ? "no device seen" : devices) + "; " + format_count(facts.processes) +
                        " processes, " + format_count(facts.launches) + " launches, " + format_count(facts.executions) +
                        " executions, " + format_count(facts.transfers) + " copies, " + format_count(facts.samples) +
                        " counter samples",
                    "  ", "  ");
    if (!facts.counters.empty()) {
      page_.paragraph("counters " + safe_text(facts.counters, 300), "  ", "  ");
    }
    if (!facts.command.empty()) {
      page_.paragraph(safe_text(facts.command, 300), "  $ ", "    ");
    }
  }

  // What must be known before any number is believed.
  void warnings(const CaptureReport& report) {
    if (!report.facts.complete) {
      page_.paragraph(
          "The recorder did not finish: the end of this capture is missing, and no verdict passes on it. Record again.",
          "! ", "  ", Style::warning);
    }
    for (const Finding& finding : report.findings) {
      if (is_warning(finding)) {
        std::string text = safe_text(finding.sentence.empty() ? label_of(finding) : finding.sentence, longest_sentence);
        if (!finding.reason.empty()) {
          text = label_of(finding) + " unavailable: " + safe_text(finding.reason, longest_sentence);
        }
        page_.paragraph(joined(text, finding.advice), "! ", "  ", Style::warning);
      }
    }
  }
  // A finding about the capture that comes with advice is something to act on.
  static bool is_warning(const Finding& finding) {
    return finding.question == Question::capture && !finding.advice.empty();
  }

  static std::string joined(std::string text, const std::string& advice) {
    if (!advice.empty()) {
      text += (text.ends_with('.') ? " " : ". ") + safe_text(advice, longest_sentence);
    }
    return text;
  }

  void kernels(const CaptureReport& report) {
    std::vector<std::string> raw;
    for (const KernelSection& kernel : report.kernels) {
      raw.push_back(kernel.name);
    }
    const auto names = short_names(raw, page_.width());
    for (size_t index = 0; index < names.size(); ++index) {
      const KernelSection& kernel = report.kernels[index];
      page_.blank();
      page_.line(names[index], Style::bold);
      if (kernel.executions > 0) {
        page_.line("  " + format_count(kernel.executions) + " executions, " + format_value(kernel.time_ns, "ns") +
                   ", " + format_value(kernel.share_percent, "%") + " of all kernels' time");
      }
      questions(kernel.findings, false);
    }
    if (report.kernels_left_out > 0) {
      page_.blank();
      page_.paragraph(format_count(report.kernels_left_out) + " more kernels with " +
                          format_value(report.left_out_percent, "%") +
                          " of the kernels' time are left out. `kvet kernels` lists them, `--kernel RE` picks.",
                      "", "", Style::dim);
    }
  }

  static std::string_view title(Question question) {
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

  void questions(const std::vector<Finding>& findings, bool warnings_shown) {
    for (Question question :
         {Question::capture, Question::occupancy, Question::dram, Question::dispatch, Question::nccl}) {
      std::vector<const Finding*> own;
      for (const Finding& finding : findings) {
        if (finding.question == question && !(warnings_shown && is_warning(finding))) {
          own.push_back(&finding);
        }
      }
      if (!own.empty()) {
        section(question, own);
      }
    }
  }

  void section(Question question, const std::vector<const Finding*>& findings) {
    const bool distribution = std::any_of(findings.begin(), findings.end(), [](const Finding* finding) {
      return finding->value && !stem_of(finding->id).statistic.empty();
    });
    std::string head = pad_right("  " + std::string(title(question)), label_indent + label_columns());
    for (std::string_view statistic : statistics) {
      head += pad_left(distribution ? statistic : "", number_columns);
    }
    page_.line(head + "  " + pad_right("evidence", evidence_columns - 2) + pad_left("n", count_columns), Style::bold);

    std::string heading;  // what the lines below are beside
    for (size_t index = 0; index < findings.size();) {
      const Finding& finding = *findings[index];
      const std::string beside = heading_of(finding, question);
      if (beside != heading) {
        heading = beside;
        page_.line("    " + safe_text(heading.empty() ? "altogether" : heading, page_.width() - 4), Style::dim);
      }
      if (!finding.value) {
        index = unavailable(findings, index, question);
      } else if (!stem_of(finding.id).statistic.empty()) {
        index = percentiles(findings, index);
      } else {
        single(finding);
        ++index;
      }
    }
  }

  // The findings of a capture's collectives name what they are about in their subject; a kernel's own don't need to.
  static std::string heading_of(const Finding& finding, Question question) {
    const std::string beside = beside_of(finding);
    if (question == Question::nccl && finding.subject.starts_with("collectives")) {
      return beside.empty() ? finding.subject : finding.subject + ", " + beside;
    }
    return beside;
  }

  void single(const Finding& finding) {
    const std::string value = safe_text(format_value(*finding.value, finding.unit), 40);
    std::string middle = pad_left(value, number_columns);
    if (finding.interval) {
      middle += " " + safe_text(format_interval(*finding.interval, *finding.value, finding.unit), 40);
    }
    numbers(finding, middle);
    if (!finding.sentence.empty() || !finding.advice.empty()) {
      page_.paragraph(joined(safe_text(finding.sentence, longest_sentence), finding.advice), "        ", "        ",
                      Style::dim);
    }
  }

  size_t percentiles(const std::vector<const Finding*>& findings, size_t begin) {
    const Finding& first = *findings[begin];
    std::string cells[std::size(statistics)];
    size_t end = begin;
    for (; end < findings.size(); ++end) {
      const Finding& next = *findings[end];
      const Stem stem = stem_of(next.id);
      if (!next.value || stem.name != stem_of(first.id).name || next.beside != first.beside ||
          next.subject != first.subject) {
        break;
      }
      const auto which =
          std::find(std::begin(statistics), std::end(statistics), stem.statistic) - std::begin(statistics);
      std::string& cell = cells[which];
      if (which == static_cast<std::ptrdiff_t>(std::size(statistics)) || !cell.empty()) {
        break;
      }
      cell = safe_text(format_value(*next.value, next.unit), number_columns - 1);
    }
    std::string middle;
    for (const std::string& cell : cells) {
      middle += pad_left(cell, number_columns);
    }
    numbers(first, middle);
    return end;
  }

  void numbers(const Finding& finding, const std::string& middle) {
    std::string text =
        pad_right("    " + std::string(label_indent - 4, ' ') + safe_text("  " + label_of(finding), label_columns()),
                  label_indent + label_columns());
    text += pad_right(middle, 4 * number_columns);
    text += "  " + pad_right(name(finding.evidence), evidence_columns - 2);
    text += pad_left(format_count(finding.observations), count_columns);
    page_.line(text);
  }

  size_t unavailable(const std::vector<const Finding*>& findings, size_t begin, Question question) {
    const Finding& first = *findings[begin];
    std::string labels;
    std::string_view last;
    size_t end = begin;
    for (; end < findings.size(); ++end) {
      const Finding& next = *findings[end];
      if (next.value || next.reason != first.reason || next.advice != first.advice ||
          heading_of(next, question) != heading_of(first, question)) {
        break;
      }
      if (stem_of(next.id).name != last) {
        labels += (labels.empty() ? "" : ", ") + label_of(next);
        last = stem_of(next.id).name;
      }
    }
    page_.paragraph(joined(labels + " unavailable: " + safe_text(first.reason, longest_sentence), first.advice),
                    "      ", "        ", Style::dim);
    return end;
  }

  Page page_;
};

}  // namespace

std::string render_text(const std::vector<CaptureReport>& reports, const RenderOptions& options) {
  return Renderer(options).render(reports);
}

}  // namespace kvet::report
