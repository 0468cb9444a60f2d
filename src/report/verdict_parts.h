// What every rendering of a verdict says, in pieces: the text, Markdown, JUnit and SARIF differ in how they lay them out. Nothing
// here is escaped: names, reasons and paths are raw.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "verdict/verdict.h"

namespace kvet::report {

// "a step is …; 4 quads, …"
[[nodiscard]] std::string basis_text(const verdict::Verdict& verdict);

[[nodiscard]] std::string ratio_text(double ratio);  // three decimals
[[nodiscard]] std::string interval_text(const verdict::Estimate& estimate);  // "1.204 to 1.391"
[[nodiscard]] std::string interval_title(const verdict::Verdict& verdict);  // "98.3% interval"
[[nodiscard]] std::string held_against_text(const verdict::Level& level);  // "claim 1.380"; "" for none
// "reproduced 90% of the claim's logarithm, kept 70% of level 1's"
[[nodiscard]] std::string shares_text(const verdict::Verdict& verdict);

struct LedgerLine {
  std::string name;
  bool is_kernel = false;  // a kernel's name, shortened
  std::string baseline, candidate, change;
};
struct LedgerText {
  std::string reason;  // why there is none
  std::string unit;  // of all figures, so that they can be compared at a glance
  std::vector<LedgerLine> rows;
  LedgerLine wall;
};
[[nodiscard]] LedgerText ledger_text(const verdict::Verdict& verdict, size_t name_columns);

struct FactorLine {
  std::string name;
  std::string lost, share;  // "8.2 µs", "22%"; empty where it is not known
  std::string reason;  // why not
};
[[nodiscard]] std::string factors_title(const verdict::Verdict& verdict);
[[nodiscard]] std::vector<FactorLine> factor_lines(const verdict::Verdict& verdict);

// The findings that speak for a question in one line: at most three, of the candidate.
struct QuestionText {
  std::string_view label;
  std::vector<const Finding*> findings;
  std::string text;  // with the baseline's figures
};
[[nodiscard]] std::vector<QuestionText> question_texts(const verdict::Verdict& verdict);

// Where the claim comes from, and what of it does not fit the captures; "" for a plain number.
[[nodiscard]] std::string claim_source_text(const verdict::Verdict& verdict);
// The candidate alone, as --isolated gives it: what is known, else why nothing is; "": it was not given.
[[nodiscard]] std::string isolated_text(const verdict::Verdict& verdict);
[[nodiscard]] std::string why_text(const verdict::Verdict& verdict);
[[nodiscard]] std::string advice_text(const verdict::Verdict& verdict);
[[nodiscard]] std::string cost_text(const verdict::Verdict& verdict);

}  // namespace kvet::report
