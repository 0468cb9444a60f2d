#include "report/verdict_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/safe_text.h"
#include "report/layout.h"
#include "report/verdict_parts.h"

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

void headline(Screen& screen, const Verdict& verdict) {
  const std::vector<std::string> pieces = wrapped(safe_text(verdict.headline, 2 * screen.width()), screen.width());
  for (size_t i = 0; i < std::min<size_t>(2, pieces.size()); ++i) {
    screen.line(pieces[i], Style::bold);
  }
  screen.line(safe_text(basis_text(verdict), screen.width()), Style::dim);
}

void levels(Screen& screen, const Verdict& verdict) {
  screen.line(pad_right("baseline time ÷ candidate time", level_columns) + pad_left("ratio", 8) + "  " +
                  pad_right(interval_title(verdict), 18) + "held against",
              Style::dim);
  for (const auto& level : verdict.levels) {
    std::string text =
        pad_right(safe_text(fmt::format("{} {}", level.number, level.what), level_columns), level_columns);
    if (level.estimate) {
      text += pad_left(ratio_text(level.estimate->ratio), 8) + "  " + pad_right(interval_text(*level.estimate), 18) +
              held_against_text(level);
    } else {
      text += "  unavailable: " + safe_text(level.reason, 100);
    }
    screen.line(text, level.number == 3 ? Style::bold : Style::plain);
  }
  screen.line(safe_text("  " + shares_text(verdict), screen.width()));
}

std::vector<std::string> ledger_lines(const Verdict& verdict) {
  const LedgerText ledger = ledger_text(verdict, ledger_name_columns - 1);
  if (!ledger.reason.empty()) {
    return {"ledger unavailable: " + ledger.reason};
  }
  const auto line = [](const std::string& name, const std::string& baseline, const std::string& candidate,
                       const std::string& change) {
    return pad_right(name, ledger_name_columns) + pad_left(baseline, 10) + pad_left(candidate, 10) +
           pad_left(change, 10);
  };
  std::vector<std::string> lines{line(ledger.unit + " per step", "baseline", "candidate", "change")};
  for (const LedgerLine& row : ledger.rows) {
    lines.push_back(line(row.name, row.baseline, row.candidate, row.change));
  }
  lines.push_back(line(ledger.wall.name, ledger.wall.baseline, ledger.wall.candidate, ledger.wall.change));
  return lines;
}

std::vector<std::string> where_lines(const Verdict& verdict) {
  if (verdict.where_it_went.empty()) {
    return {"where it went: needs a claim or level 1"};
  }
  std::vector<std::string> lines{factors_title(verdict)};
  for (const FactorLine& factor : factor_lines(verdict)) {
    lines.push_back(pad_right(factor.name, 14) + (factor.lost.empty() ? "  unavailable: " + factor.reason
                                                  : factor.share.ends_with('%')
                                                      ? pad_left(factor.lost, 13) + pad_left(factor.share, 7)
                                                      : pad_left(factor.lost, 13) + "  " + factor.share));
  }
  return lines;
}

void ledger(Screen& screen, const Verdict& verdict) {
  const std::vector<std::string> left = ledger_lines(verdict), right = where_lines(verdict);
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    std::string text = pad_right(safe_text(i < left.size() ? left[i] : "", ledger_columns), ledger_columns);
    if (i < right.size()) {
      text += " " + safe_text(right[i], screen.width() - ledger_columns - 1);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    screen.line(text, i == 0 ? Style::dim : Style::plain);
  }
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
    for (const QuestionText& question : question_texts(verdict)) {
      screen.entry(question.label, question.text, 1);
    }
    screen.blank();
  }
  if (const std::string claim = claim_source_text(verdict); !claim.empty()) {
    screen.entry("Claim", claim, 4);
  }
  if (const std::string isolated = isolated_text(verdict); !isolated.empty()) {
    screen.entry("Isolated", isolated, 3);
  }
  screen.entry("Why", why_text(verdict), 2);
  screen.entry("Try", advice_text(verdict), 2);
  screen.entry("Cost", cost_text(verdict), 1);
  for (size_t i = 0; i < std::min<size_t>(2, verdict.look_further.size()); ++i) {
    screen.command(i == 0 ? "Look" : "", verdict.look_further[i]);
  }
  return screen.text();
}

}  // namespace kvet::report
