// The report as text. One line per finding; findings that differ only in their statistic (p50, p90, p99, max) share a
// line; findings that are unavailable for one reason share a paragraph; a sentence is printed once. Columns at the default
// width of 100:
//
//     label (32)                        4 × number (10)                         evidence (12)    n (12)
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/safe_text.h"
#include "report/finding_rows.h"
#include "report/format.h"
#include "report/layout.h"
#include "report/names.h"
#include "report/report.h"

namespace kvet::report {
namespace {

constexpr size_t number_columns = 10, evidence_columns = 12, count_columns = 12, label_indent = 4;
constexpr size_t longest_sentence = 1000;

// What is safe to print of a sentence.
std::string said(const std::string& raw) { return safe_text(raw, longest_sentence); }

class Renderer {
 public:
  explicit Renderer(const RenderOptions& options) : page_(std::max<size_t>(options.width, 80), options.colour) {}

  std::string render(const std::vector<CaptureReport>& reports) {
    for (const CaptureReport& report : reports) {
      if (!page_.text().empty()) {
        page_.blank();
      }
      header(report.facts);
      warnings(report);
      about_capture(report.findings);
      questions(report.findings);
      kernels(report);
    }
    return page_.text();
  }

 private:
  [[nodiscard]] size_t label_columns() const {
    return page_.width() - label_indent - 4 * number_columns - evidence_columns - count_columns;
  }

  void header(const CaptureFacts& facts) {
    page_.paragraph(safe_text(facts.path, 400), "", "  ", Style::bold);
    std::string first = facts.tier.empty() ? "tier unknown" : "tier " + safe_text(facts.tier, 40);
    first += facts.duration_ns ? ", " + format_value(static_cast<double>(*facts.duration_ns), "ns") + " recorded" : "";
    first += facts.complete ? ", complete" : ", INCOMPLETE";
    first += facts.lost == 0 ? ", nothing lost" : ", " + plural(facts.lost, "event") + " LOST";
    page_.paragraph(first, "  ", "  ");
    if (facts.window_ns) {
      page_.paragraph("findings are about the part from " + format_value(facts.window_ns->low, "ns") + " to " +
                          format_value(facts.window_ns->high, "ns"),
                      "  ", "  ");
    }
    std::string devices;
    for (const std::string& device : facts.devices) {
      devices += (devices.empty() ? "" : ", ") + (device.empty() ? "a GPU of unknown name" : safe_text(device, 60));
    }
    page_.paragraph((devices.empty() ? "no device seen" : devices) + "; " +
                        (facts.processes == 1 ? "1 process" : format_count(facts.processes) + " processes") + ", " +
                        (facts.launches == 1 ? "1 launch" : format_count(facts.launches) + " launches") + ", " +
                        plural(facts.executions, "execution") + ", " +
                        (facts.transfers == 1 ? "1 copy" : format_count(facts.transfers) + " copies") + ", " +
                        plural(facts.samples, "counter sample"),
                    "  ", "  ");
    if (!facts.counters.empty()) {
      page_.paragraph("counters " + safe_text(facts.counters, 300), "  ", "  ");
    }
    if (!facts.command.empty()) {
      page_.paragraph(safe_text(facts.command, 300), "  $ ", "    ");
    }
  }

  void warnings(const CaptureReport& report) {
    if (!report.facts.complete) {
      page_.paragraph(
          "The recorder did not finish: the end of this capture is missing, and no verdict passes on it. Record again.",
          "! ", "  ", Style::warning);
    }
    for (const Finding& finding : report.findings) {
      if (is_warning(finding)) {
        page_.paragraph(with_advice(capitalised(said(finding.sentence)), said(finding.advice)), "! ", "  ",
                        Style::warning);
      }
    }
  }

  // What was checked about the capture, in sentences: the numbers are in them.
  void about_capture(const std::vector<Finding>& findings) {
    bool begun = false;
    for (const Finding& finding : findings) {
      if (finding.question != Question::capture || is_warning(finding)) {
        continue;
      }
      if (!begun) {
        page_.line("  Capture", Style::bold);
        begun = true;
      }
      const std::string text = finding.value
                                   ? said(finding.sentence)
                                   : with_advice("unavailable: " + said(finding.reason), said(finding.advice));
      page_.paragraph(label_of(finding) + ": " + text, "      ", "        ", finding.value ? Style::plain : Style::dim);
    }
  }

  void kernels(const CaptureReport& report) {
    std::vector<std::string> raw;
    raw.reserve(report.kernels.size());
    for (const KernelSection& kernel : report.kernels) {
      raw.push_back(kernel.name);
    }
    const auto names = short_names(raw, page_.width());
    for (size_t index = 0; index < names.size(); ++index) {
      const KernelSection& kernel = report.kernels[index];
      page_.blank();
      page_.line(names[index], Style::bold);
      if (kernel.executions > 0) {
        page_.line("  " + plural(kernel.executions, "execution") + ", " + format_value(kernel.time_ns, "ns") + ", " +
                   format_value(kernel.share_percent, "%") + " of all kernels' time");
      }
      questions(kernel.findings);
      conditions(kernel.findings);
    }
    if (report.kernels_left_out > 0) {
      page_.blank();
      page_.paragraph(plural(report.kernels_left_out, "more kernel") + " with " +
                          format_value(report.left_out_percent, "%") +
                          " of the kernels' time left out. `kvet kernels` lists them, `--kernel RE` picks.",
                      "", "", Style::dim);
    }
  }

  void questions(const std::vector<Finding>& findings) {
    for (Question question : {Question::occupancy, Question::dram, Question::dispatch, Question::nccl}) {
      Findings own;
      for (const Finding& finding : findings) {
        if (finding.question == question) {
          own.push_back(&finding);
        }
      }
      if (!own.empty()) {
        section(title(question), own);
      }
    }
  }

  // In a kernel's findings those about the capture say under which conditions it ran.
  void conditions(const std::vector<Finding>& findings) {
    Findings own;
    for (const Finding& finding : findings) {
      if (finding.question == Question::capture) {
        own.push_back(&finding);
      }
    }
    if (!own.empty()) {
      section("Conditions", own);
    }
  }

  void section(std::string_view name, const Findings& findings) {
    const bool distribution = std::any_of(findings.begin(), findings.end(), [](const Finding* finding) {
      return finding->value && !stem_of(finding->id).statistic.empty();
    });
    std::string head = pad_right("  " + std::string(name), label_indent + label_columns());
    for (std::string_view statistic : statistics) {
      head += pad_left(distribution ? statistic : "", number_columns);
    }
    page_.line(head + "  " + pad_right("evidence", evidence_columns - 2) + pad_left("n", count_columns), Style::bold);
    bool first = true;
    for (size_t begin = 0; begin < findings.size();) {
      const std::string heading = heading_of(*findings[begin]);
      size_t end = begin;
      Findings group;
      for (; end < findings.size() && heading_of(*findings[end]) == heading; ++end) {
        group.push_back(findings[end]);
      }
      if (!heading.empty() || !first) {
        page_.line("    " + (heading.empty() ? "altogether" : heading), Style::dim);
      }
      lines(group);
      first = false;
      begin = end;
    }
  }

  // What a finding is about, where that is not the kernel of the section.
  std::string heading_of(const Finding& finding) {
    std::string beside = finding.beside.empty() ? "" : names_(finding.beside);
    if (finding.subject.starts_with("collectives")) {
      return safe_text(finding.subject, 80) + (beside.empty() ? "" : ", " + beside);
    }
    return beside;
  }

  // Findings about one thing: numbers first, then what is not known.
  void lines(const Findings& findings) {
    for (const FindingRow& row : finding_rows(findings)) {
      std::string middle;
      if (row.distribution) {
        for (const std::string& cell : row.statistic) {
          middle += pad_left(safe_text(cell, number_columns - 1), number_columns);
        }
      } else {
        middle = pad_left(safe_text(row.value, 40), number_columns);
        middle += row.interval.empty() ? "" : " " + safe_text(row.interval, 40);
      }
      numbers(*row.finding, middle);
      explain(with_advice(said(row.finding->sentence), said(row.finding->advice)));
    }
    for (const UnavailableGroup& group : unavailable_groups(findings)) {
      page_.paragraph(
          with_advice(group.labels + " unavailable: " + said(group.finding->reason), said(group.finding->advice)),
          "      ", "        ", Style::dim);
    }
  }

  void numbers(const Finding& finding, const std::string& middle) {
    std::string text = "    " + safe_text("  " + label_of(finding), label_columns());
    text = pad_right(text, label_indent + label_columns()) + pad_right(middle, 4 * number_columns);
    text += "  " + pad_right(name(finding.evidence), evidence_columns - 2);
    page_.line(text + pad_left(format_count(finding.observations), count_columns));
  }

  // The same sentence explains the same figure of every thread and kernel: once is enough.
  void explain(const std::string& sentence) {
    if (!sentence.empty() && explained_.insert(sentence).second) {
      page_.paragraph(sentence, "          ", "          ", Style::dim);
    }
  }

  Page page_;
  NameCache names_{60};
  std::set<std::string> explained_;
};

}  // namespace

std::string render_text(const std::vector<CaptureReport>& reports, const RenderOptions& options) {
  return Renderer(options).render(reports);
}

}  // namespace kvet::report
