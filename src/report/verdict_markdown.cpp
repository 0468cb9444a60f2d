#include "report/verdict_markdown.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/version.h"
#include "report/finding_rows.h"
#include "report/format.h"
#include "report/markdown.h"
#include "report/names.h"
#include "report/verdict_parts.h"

namespace kvet::report {
namespace {

using verdict::Verdict;

constexpr size_t kernel_columns = 60;

std::string levels(const Verdict& verdict) {
  std::vector<std::vector<std::string>> rows;
  for (const verdict::Level& level : verdict.levels) {
    std::vector<std::string> row{fmt::format("{} {}", level.number, markdown_text(level.what)), "", "", ""};
    if (level.estimate) {
      row[1] = ratio_text(level.estimate->ratio);
      row[2] = interval_text(*level.estimate);
      row[3] = markdown_text(held_against_text(level));
    } else {
      row[2] = "unavailable: " + markdown_text(level.reason, 200);
    }
    for (std::string& cell : row) {
      if (level.number == 3 && !cell.empty()) {  // the one that decides
        cell.insert(0, "**").append("**");
      }
    }
    rows.push_back(std::move(row));
  }
  return markdown_table({"baseline time ÷ candidate time", "ratio", interval_title(verdict), "held against"}, "01",
                        rows) +
         "\n" + markdown_text(capitalised(shares_text(verdict))) + ".\n";
}

std::string ledger(const Verdict& verdict) {
  const LedgerText text = ledger_text(verdict, kernel_columns);
  if (!text.reason.empty()) {
    return "Unavailable: " + markdown_text(text.reason) + ".\n";
  }
  std::vector<std::vector<std::string>> rows;
  rows.reserve(text.rows.size() + 1);
  for (const LedgerLine& row : text.rows) {
    rows.push_back(
        {row.is_kernel ? markdown_code(row.name) : markdown_text(row.name), row.baseline, row.candidate, row.change});
  }
  rows.push_back(
      {"**" + text.wall.name + "**", text.wall.baseline, text.wall.candidate, "**" + text.wall.change + "**"});
  return markdown_table({text.unit + " per step", "baseline", "candidate", "change"}, "0111", rows);
}

std::string where_it_went(const Verdict& verdict) {
  std::vector<std::vector<std::string>> rows;
  for (const FactorLine& factor : factor_lines(verdict)) {
    rows.push_back({markdown_text(factor.name), factor.lost,
                    factor.lost.empty() ? "unavailable: " + markdown_text(factor.reason) : factor.share});
  }
  return rows.empty() ? "Needs a claim or level 1.\n"
                      : markdown_table({factors_title(verdict), "per step", "share"}, "01", rows);
}

std::string questions(const Verdict& verdict) {
  std::string out;
  for (const QuestionText& question : question_texts(verdict)) {
    out += fmt::format("- **{}**: {}\n", question.label, markdown_text(question.text));
  }
  return out;
}

std::string causes(const Verdict& verdict) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const char* kind, const std::vector<verdict::Cause>& causes) {
    for (const verdict::Cause& cause : causes) {
      rows.push_back({kind, markdown_code(cause.code), markdown_text(cause.what), markdown_text(cause.fix)});
    }
  };
  add("refused", verdict.refusals);
  add("invalid", verdict.invalid);
  add("at most likely", verdict.caps);
  add("caution", verdict.cautions);
  return rows.empty() ? "" : markdown_table({"", "code", "what", "what to do"}, "", rows);
}

std::string kernel_set(const Verdict& verdict) {
  constexpr size_t most = 50;
  std::vector<std::vector<std::string>> rows;
  for (const verdict::KernelInSet& kernel : verdict.kernel_set) {
    if (rows.size() == most) {
      rows.push_back({fmt::format("{} more", verdict.kernel_set.size() - most), "", "", ""});
      break;
    }
    rows.push_back({markdown_code(short_name(kernel.name, kernel_columns)),
                    kernel.baseline ? kernel.candidate ? "both" : "baseline" : "candidate",
                    format_count(kernel.executions), format_value(kernel.time_ns, "ns")});
  }
  return "Found by: " + markdown_text(verdict.kernel_set_how) + ".\n\n" +
         markdown_table({"kernel", "run by", "executions", "time"}, "0011", rows);
}

std::string files(const Verdict& verdict) {
  std::string out;
  const auto add = [&](const char* arm, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      out += fmt::format("- {}: {}\n", arm, markdown_code(path, 200));
    }
  };
  add("baseline", verdict.captures_baseline);
  add("candidate", verdict.captures_candidate);
  return out;
}

}  // namespace

std::string verdict_markdown(const Verdict& verdict, bool passed) {
  std::string out =
      fmt::format("### kvet: {}{}\n\n", verdict::name(verdict.word), verdict.likely ? ", at most likely" : "");
  std::string_view headline = verdict.headline;  // the word is in the heading
  if (const size_t colon = headline.find(": ");
      colon != std::string_view::npos && headline.substr(0, colon).ends_with(verdict::name(verdict.word))) {
    headline.remove_prefix(colon + 2);
  }
  out += markdown_text(capitalised(std::string(headline))) + ".\n\n";
  out += fmt::format("> **Why**: {}  \n> **Try**: {}  \n> **Gate**: {}; check of the outputs: {}\n\n",
                     markdown_text(why_text(verdict)), markdown_text(advice_text(verdict)),
                     passed ? "passed" : "not passed", markdown_text(verdict.check));
  if (const std::string claim = claim_source_text(verdict); !claim.empty()) {
    out += "**Claim**: " + markdown_text(claim) + "\n\n";
  }
  if (const std::string isolated = isolated_text(verdict); !isolated.empty()) {
    out += "**Isolated**: " + markdown_text(isolated) + "\n\n";
  }
  if (!verdict.levels.empty()) {
    out += levels(verdict) + "\n";
    out += "**Where the time of a step went**\n\n" + ledger(verdict) + "\n";
    out += "**Where the gain went**\n\n" + where_it_went(verdict) + "\n";
    out += questions(verdict);
  }
  const std::string cost = cost_text(verdict);
  if (!cost.empty()) {
    out += "- **Cost**: " + markdown_text(cost) + "\n";
  }
  out += "\n";
  if (const std::string text = causes(verdict); !text.empty()) {
    out += markdown_details("Refusals, caps and cautions", text);
  }
  if (!verdict.kernel_set.empty()) {
    out += markdown_details(fmt::format("Kernel set: {}", verdict.kernel_set.size()), kernel_set(verdict));
  }
  if (const std::string text = files(verdict); !text.empty()) {
    out += markdown_details(
        "Captures",
        text + (verdict.look_further.empty() ? "" : "\nLook further:\n\n" + markdown_commands(verdict.look_further)));
  }
  return out + fmt::format("\n<sub>{}; kvet {}</sub>\n", markdown_text(basis_text(verdict)), version());
}

}  // namespace kvet::report
