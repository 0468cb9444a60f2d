#include "report/verdict_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/safe_text.h"
#include "report/format.h"
#include "report/layout.h"
#include "report/names.h"

namespace kvet::report {
namespace {

using verdict::Verdict;

constexpr size_t label_columns = 12, level_columns = 47, ledger_columns = 56, ledger_name_columns = 25;

// Appends lines of which it keeps count, so that each part has its share of the screen.
class Screen {
 public:
  explicit Screen(const RenderOptions& options) : page_(std::max<size_t>(options.width, 80), options.colour) {}

  void line(std::string_view text, Style style = Style::plain) { page_.line(text, style); }
  void blank() { page_.blank(); }
  // "label       text", in at most `lines` lines; what does not fit ends in "…".
  void entry(std::string_view label, std::string_view text, size_t lines, Style style = Style::plain) {
    std::vector<std::string> pieces = wrapped(safe_text(text, 1000), page_.width() - label_columns - 1);
    for (size_t i = 0; i < std::min(lines, pieces.size()); ++i) {
      std::string piece = pieces[i];
      if (i + 1 == lines && pieces.size() > lines) {
        piece = safe_text(piece, page_.width() - label_columns - 3) + " …";
      }
      line(pad_right(i == 0 ? label : "", label_columns) + piece, style);
    }
  }
  // A command to copy is never broken or cut before its end is off the screen.
  void command(std::string_view label, std::string_view text) {
    const std::string safe = safe_text(text, 1000);
    line(display_width(safe) + label_columns <= width() ? pad_right(label, label_columns) + safe : "  " + safe);
  }
  [[nodiscard]] size_t width() const { return page_.width(); }
  [[nodiscard]] const std::string& text() const { return page_.text(); }

 private:
  Page page_;
};

std::string interval_text(const verdict::Estimate& estimate) {
  return estimate.interval ? fmt::format("{:.3f} to {:.3f}", estimate.interval->low, estimate.interval->high)
                           : std::string("one observation");
}

void headline(Screen& screen, const Verdict& verdict) {
  const std::vector<std::string> pieces = wrapped(safe_text(verdict.headline, 2 * screen.width()), screen.width());
  for (size_t i = 0; i < std::min<size_t>(2, pieces.size()); ++i) {
    screen.line(pieces[i], Style::bold);
  }
  // Where the experiment ended before its first block, no step was found.
  std::string basis = verdict.step.empty() ? "" : fmt::format("a step is {}; ", verdict.step);
  basis += fmt::format("{} quads", verdict.looked_at);
  if (verdict.aa) {
    basis += fmt::format(", {} of the baseline against itself: {:.4f}", verdict.aa_quads, verdict.aa->ratio);
  }
  screen.line(safe_text(basis, screen.width()), Style::dim);
}

void levels(Screen& screen, const Verdict& verdict) {
  double confidence = 0;
  for (const auto& level : verdict.levels) {
    confidence = std::max(confidence, level.estimate ? level.estimate->confidence : 0);
  }
  std::string interval_title = confidence > 0 ? fmt::format("{:.1f}% interval", 100 * confidence) : "interval";
  screen.line(pad_right("baseline time ÷ candidate time", level_columns) + pad_left("ratio", 8) + "  " +
                  pad_right(interval_title, 18) + "held against",
              Style::dim);
  for (const auto& level : verdict.levels) {
    std::string text =
        pad_right(safe_text(fmt::format("{} {}", level.number, level.what), level_columns), level_columns);
    if (level.estimate) {
      text += pad_left(fmt::format("{:.3f}", level.estimate->ratio), 8) + "  " +
              pad_right(interval_text(*level.estimate), 18);
      if (level.held_against) {
        text += fmt::format("{} {:.3f}", level.held_against_name, *level.held_against);
      }
    } else {
      text += "  unavailable: " + safe_text(level.reason, 100);
    }
    screen.line(text, level.number == 3 ? Style::bold : Style::plain);
  }
  std::string share = verdict.reproduced
                          ? fmt::format("reproduced {:.0f}% of the claim's logarithm", 100 * *verdict.reproduced)
                          : "reproduced: unavailable";
  share += verdict.kept ? fmt::format(", kept {:.0f}% of level 1's", 100 * *verdict.kept)
                        : ", kept: unavailable, " + verdict.kept_reason;
  screen.line(safe_text("  " + share, screen.width()));
}

// One unit for the whole ledger, so that its numbers can be compared at a glance.
struct Scale {
  double divisor;
  const char* unit;
};
Scale scale_for(double wall_ns) { return wall_ns < 1e8 ? Scale{1e3, "µs"} : Scale{1e6, "ms"}; }

// The names of all rows; kernels whose short names come out alike get a mark.
std::vector<std::string> row_names(const verdict::Ledger& ledger) {
  std::vector<std::string> raw;
  for (const auto& row : ledger.rows) {
    if (row.id == "kernel") {
      raw.push_back(row.kernel);
    }
  }
  const std::vector<std::string> kernels = short_names(raw, ledger_name_columns - 1);
  std::vector<std::string> names;
  names.reserve(ledger.rows.size());
  size_t next = 0;
  for (const auto& row : ledger.rows) {
    names.push_back(row.id == "kernel"                ? kernels[next++]
                    : row.id == "set_alone"           ? "kernel set alone"
                    : row.id == "set_beside_siblings" ? "kernel set beside others"
                    : row.id == "other_kernels"       ? "all other kernels"
                                                      : row.id);
  }
  return names;
}

std::vector<std::string> ledger_lines(const Verdict& verdict, const Scale& scale) {
  std::vector<std::string> lines;
  const verdict::Ledger& ledger = verdict.ledger;
  if (!ledger.reason.empty()) {
    return {"ledger unavailable: " + ledger.reason};
  }
  auto numbers = [&](double baseline, double candidate, double difference) {
    return pad_left(fmt::format("{:.1f}", baseline / scale.divisor), 10) +
           pad_left(fmt::format("{:.1f}", candidate / scale.divisor), 10) +
           pad_left(fmt::format("{:+.1f}", difference / scale.divisor), 10);
  };
  lines.push_back(pad_right(fmt::format("{} per step", scale.unit), ledger_name_columns) + pad_left("baseline", 10) +
                  pad_left("candidate", 10) + pad_left("change", 10));
  const std::vector<std::string> names = row_names(ledger);
  for (size_t i = 0; i < names.size(); ++i) {
    const verdict::LedgerRow& row = ledger.rows[i];
    if (row.baseline_ns != 0 || row.candidate_ns != 0) {
      lines.push_back(pad_right(names[i], ledger_name_columns) +
                      numbers(row.baseline_ns, row.candidate_ns, row.difference_ns));
    }
  }
  lines.push_back(
      pad_right(ledger.adds_up ? "wall time (adds up)" : "wall time (DOES NOT ADD UP)", ledger_name_columns) +
      numbers(ledger.baseline_wall_ns, ledger.candidate_wall_ns, ledger.candidate_wall_ns - ledger.baseline_wall_ns));
  return lines;
}

std::vector<std::string> factor_lines(const Verdict& verdict, const Scale& scale) {
  std::vector<std::string> lines;
  if (verdict.where_it_went.empty()) {
    return {"where it went: needs a claim or level 1"};
  }
  lines.push_back(
      fmt::format("lost since {} (associated)", verdict.where_reference == "claim" ? "the claim" : "level 1"));
  for (const auto& factor : verdict.where_it_went) {
    std::string label = factor.id;
    std::replace(label.begin(), label.end(), '_', ' ');
    std::string text = pad_right(label, 14);
    if (factor.lost_ns) {
      text += pad_left(fmt::format("{:.1f} {}", *factor.lost_ns / scale.divisor, scale.unit), 13);
      text += factor.percent ? pad_left(fmt::format("{:.0f}%", *factor.percent), 7) : "  to level 4";
    } else {
      text += "  unavailable: " + factor.reason;
    }
    lines.push_back(text);
  }
  return lines;
}

void ledger(Screen& screen, const Verdict& verdict) {
  const Scale scale = scale_for(verdict.ledger.baseline_wall_ns);
  const std::vector<std::string> left = ledger_lines(verdict, scale), right = factor_lines(verdict, scale);
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    std::string text = pad_right(safe_text(i < left.size() ? left[i] : "", ledger_columns), ledger_columns);
    if (i < right.size()) {
      text += " " + safe_text(right[i], screen.width() - ledger_columns - 1);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    screen.line(text, i == 0 ? Style::dim : Style::plain);
  }
}

// Which findings speak for a question in one line: the first of these that have a value.
struct Headliners {
  Question question;
  const char* label;
  std::vector<std::string_view> ids;
};
const std::vector<Headliners>& headliners() {
  static const std::vector<Headliners> all{
      {Question::occupancy,
       "Occupancy",
       {"occupancy.solo", "occupancy.corun.own", "occupancy.corun.device", "occupancy.retained",
        "occupancy.theoretical"}},
      {Question::dram, "DRAM", {"dram.solo", "dram.corun.device", "dram.saturated"}},
      {Question::dispatch,
       "Dispatch",
       {"dispatch.starvation.stream.share", "dispatch.starvation.device.share", "dispatch.off_cpu.share",
        "dispatch.graph.lead.p50", "dispatch.eager.lead.p50"}},
      {Question::nccl,
       "NCCL",
       {"nccl.arrival_wait.p50", "nccl.straggler.share", "nccl.transfer.p50", "nccl.call.p50", "nccl.collectives"}},
  };
  return all;
}

const Finding* with_value(const std::vector<Finding>& findings, std::string_view id) {
  auto found = std::find_if(findings.begin(), findings.end(),
                            [&](const Finding& finding) { return finding.id == id && finding.value.has_value(); });
  return found == findings.end() ? nullptr : &*found;
}

std::string label_of(const Finding& finding) {
  std::string label = finding.id.substr(finding.id.find('.') + 1);
  std::replace(label.begin(), label.end(), '.', ' ');
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

std::string question_text(const verdict::QuestionLine& line, const std::vector<std::string_view>& ids) {
  constexpr size_t most = 3;
  std::vector<const Finding*> chosen;
  for (std::string_view id : ids) {
    if (const Finding* finding = with_value(line.candidate, id); finding != nullptr && chosen.size() < most) {
      chosen.push_back(finding);
    }
  }
  for (const Finding& finding : line.candidate) {
    if (chosen.empty() && finding.value) {
      chosen.push_back(&finding);
    }
  }
  if (chosen.empty()) {
    auto reason = std::find_if(line.candidate.begin(), line.candidate.end(),
                               [](const Finding& finding) { return !finding.reason.empty(); });
    return "unavailable: " + (reason == line.candidate.end() ? std::string("no block to ask about") : reason->reason);
  }
  std::string text;
  for (const Finding* finding : chosen) {
    text += (text.empty() ? "" : "; ") + label_of(*finding) + " " + format_value(*finding->value, finding->unit);
    if (const Finding* before = with_value(line.baseline, finding->id)) {
      text += " (baseline " + format_value(*before->value, before->unit) + ")";
    }
  }
  return text;
}

void questions(Screen& screen, const Verdict& verdict) {
  for (const Headliners& headliner : headliners()) {
    for (const auto& line : verdict.questions) {
      if (line.question == headliner.question) {
        screen.entry(headliner.label, question_text(line, headliner.ids), 1);
      }
    }
  }
}

std::string why(const Verdict& verdict) {
  std::string text;
  auto add = [&](const std::string& sentence) { text += (text.empty() ? "" : "; ") + sentence; };
  for (const auto* causes : {&verdict.refusals, &verdict.invalid, &verdict.caps}) {
    for (const auto& cause : *causes) {
      add(cause.what);
    }
  }
  if (verdict.word == verdict::Word::inconclusive) {
    std::string words;
    for (verdict::Word word : verdict.spans) {
      words += (words.empty() ? "" : ", ") + std::string(verdict::name(word));
    }
    add(words.empty()
            ? verdict.more_units_reason
            : (verdict.end_to_end_undecided ? "the end-to-end interval leaves open " : "the interval spans ") + words);
  } else if (text.empty()) {
    add(fmt::format("within ±{:.0f}% it VANISHES", 100 * (std::exp(verdict.margin_log) - 1)) +
        (verdict.threshold_log ? fmt::format(", from {:.3f} on it SURVIVES", std::exp(*verdict.threshold_log)) : ""));
  }
  for (const auto& cause : verdict.cautions) {
    if (!cause.code.starts_with("claim_")) {  // beside the claim
      add(cause.what);
    }
  }
  return text;
}

// Where the claim comes from, and what does not fit the captures.
std::string claim_text(const Claim& claim, const std::vector<verdict::Cause>& cautions) {
  constexpr size_t longest_id = 60;
  std::string text = fmt::format("{} of {} ({}", safe_text_middle(claim.id, longest_id),
                                 safe_text_middle(claim.file, longest_id), claim.format);
  text += claim.device.empty() ? ", GPU unknown)" : fmt::format(", {})", safe_text_middle(claim.device, longest_id));
  if (claim.baseline_ns && claim.candidate_ns) {
    text +=
        fmt::format(", {} against {}", format_value(*claim.baseline_ns, "ns"), format_value(*claim.candidate_ns, "ns"));
  }
  for (const verdict::Cause& caution : cautions) {
    text += caution.code.starts_with("claim_") ? "; " + caution.what : "";
  }
  return text;
}

std::string cost(const Verdict& verdict) {
  std::string text;
  for (const Finding& finding : verdict.cost) {
    text += (text.empty() ? "recording slowed the " : ", the ") + finding.subject;
    if (!finding.value) {
      text += ": unavailable, " + finding.reason;
      break;  // one reason for both arms
    }
    text += fmt::format(" by {:.1f}%", *finding.value);
    if (finding.interval) {
      text += fmt::format(" ({:.1f} to {:.1f})", finding.interval->low, finding.interval->high);
    }
  }
  return text;
}

}  // namespace

std::string render_verdict(const Verdict& verdict, const RenderOptions& options) {
  Screen screen(options);
  headline(screen, verdict);
  screen.blank();
  if (!verdict.levels.empty()) {  // a check that failed ends an experiment before anything was measured
    levels(screen, verdict);
    screen.blank();
    ledger(screen, verdict);
    screen.blank();
    questions(screen, verdict);
    screen.blank();
  }
  if (verdict.claim_source) {
    screen.entry("Claim", claim_text(*verdict.claim_source, verdict.cautions), 4);
  }
  screen.entry("Why", why(verdict), 2);
  std::string advice;
  for (const std::string& line : verdict.advice) {
    advice += (advice.empty() ? "" : "; ") + line;
  }
  screen.entry("Try", advice.empty() ? "nothing: the claim stands" : advice, 2);
  screen.entry("Cost", cost(verdict), 1);
  for (size_t i = 0; i < std::min<size_t>(2, verdict.look_further.size()); ++i) {
    screen.command(i == 0 ? "Look" : "", verdict.look_further[i]);
  }
  return screen.text();
}

}  // namespace kvet::report
