#include "report/verdict_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/safe_text.h"
#include "report/format.h"
#include "report/names.h"

namespace kvet::report {
namespace {

using verdict::Verdict;

// One unit for the whole ledger, so that its numbers can be compared at a glance.
struct Scale {
  double divisor;
  const char* unit;
};
Scale scale_for(double wall_ns) { return wall_ns < 1e8 ? Scale{1e3, "µs"} : Scale{1e6, "ms"}; }

// The names of all rows; kernels whose short names come out alike get a mark.
std::vector<std::string> row_names(const verdict::Ledger& ledger, size_t columns) {
  std::vector<std::string> raw;
  for (const auto& row : ledger.rows) {
    if (row.id == "kernel") {
      raw.push_back(row.kernel);
    }
  }
  const std::vector<std::string> kernels = short_names(raw, columns);
  std::vector<std::string> names;
  size_t next = 0;
  names.reserve(ledger.rows.size());
  for (const auto& row : ledger.rows) {
    names.push_back(row.id == "kernel"                ? kernels[next++]
                    : row.id == "set_alone"           ? "kernel set alone"
                    : row.id == "set_beside_siblings" ? "kernel set beside others"
                    : row.id == "other_kernels"       ? "all other kernels"
                                                      : row.id);
  }
  return names;
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
       {"nccl.arrival_wait.p50", "nccl.straggler.share", "nccl.transfer.p50", "nccl.call.p50", "nccl.point_to_point",
        "nccl.collectives"}},
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

QuestionText question_text(const verdict::QuestionLine& line, const Headliners& headliner) {
  QuestionText out{headliner.label, {}, ""};
  constexpr size_t most = 3;
  std::vector<const Finding*>& chosen = out.findings;
  for (std::string_view id : headliner.ids) {
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
    out.text =
        "unavailable: " + (reason == line.candidate.end() ? std::string("no block to ask about") : reason->reason);
    return out;
  }
  std::string& text = out.text;
  for (const Finding* finding : chosen) {
    text += (text.empty() ? "" : "; ") + label_of(*finding) + " " + format_value(*finding->value, finding->unit);
    if (const Finding* before = with_value(line.baseline, finding->id)) {
      text += " (baseline " + format_value(*before->value, before->unit) + ")";
    }
  }
  return out;
}

}  // namespace

std::string basis_text(const Verdict& verdict) {
  // Where the experiment ended before its first block, no step was found.
  std::string basis = verdict.step.empty() ? "" : fmt::format("a step is {}; ", verdict.step);
  basis += fmt::format("{} quads", verdict.looked_at);
  if (verdict.aa) {
    basis += fmt::format(", {} of the baseline against itself: {:.4f}", verdict.aa_quads, verdict.aa->ratio);
  }
  return basis;
}

std::string ratio_text(double ratio) { return fmt::format("{:.3f}", ratio); }

std::string interval_text(const verdict::Estimate& estimate) {
  return estimate.interval ? ratio_text(estimate.interval->low) + " to " + ratio_text(estimate.interval->high)
                           : std::string("one observation");
}

std::string interval_title(const Verdict& verdict) {
  double confidence = 0;
  for (const auto& level : verdict.levels) {
    confidence = std::max(confidence, level.estimate ? level.estimate->confidence : 0);
  }
  return confidence > 0 ? fmt::format("{:.1f}% interval", 100 * confidence) : "interval";
}

std::string held_against_text(const verdict::Level& level) {
  return level.held_against ? level.held_against_name + " " + ratio_text(*level.held_against) : "";
}

std::string shares_text(const Verdict& verdict) {
  std::string share = verdict.reproduced
                          ? fmt::format("reproduced {:.0f}% of the claim's logarithm", 100 * *verdict.reproduced)
                          : "reproduced: unavailable";
  return share + (verdict.kept ? fmt::format(", kept {:.0f}% of level 1's", 100 * *verdict.kept)
                               : ", kept: unavailable, " + verdict.kept_reason);
}

LedgerText ledger_text(const Verdict& verdict, size_t name_columns) {
  const verdict::Ledger& ledger = verdict.ledger;
  if (!ledger.reason.empty()) {
    return {ledger.reason, "", {}, {}};
  }
  const Scale scale = scale_for(ledger.baseline_wall_ns);
  const auto line = [&](std::string name, bool is_kernel, double baseline, double candidate, double difference) {
    return LedgerLine{std::move(name), is_kernel, fmt::format("{:.1f}", baseline / scale.divisor),
                      fmt::format("{:.1f}", candidate / scale.divisor),
                      fmt::format("{:+.1f}", difference / scale.divisor)};
  };
  LedgerText text{"", scale.unit, {}, {}};
  const std::vector<std::string> names = row_names(ledger, name_columns);
  for (size_t i = 0; i < names.size(); ++i) {
    const verdict::LedgerRow& row = ledger.rows[i];
    if (row.baseline_ns != 0 || row.candidate_ns != 0) {
      text.rows.push_back(line(names[i], row.id == "kernel", row.baseline_ns, row.candidate_ns, row.difference_ns));
    }
  }
  text.wall =
      line(ledger.adds_up ? "wall time (adds up)" : "wall time (DOES NOT ADD UP)", false, ledger.baseline_wall_ns,
           ledger.candidate_wall_ns, ledger.candidate_wall_ns - ledger.baseline_wall_ns);
  return text;
}

std::string factors_title(const Verdict& verdict) {
  return fmt::format("lost since {} (associated)", verdict.where_reference == "claim" ? "the claim" : "level 1");
}

std::vector<FactorLine> factor_lines(const Verdict& verdict) {
  const Scale scale = scale_for(verdict.ledger.baseline_wall_ns);
  std::vector<FactorLine> lines;
  for (const auto& factor : verdict.where_it_went) {
    FactorLine line{factor.id, "", "", ""};
    std::replace(line.name.begin(), line.name.end(), '_', ' ');
    if (factor.lost_ns) {
      line.lost = fmt::format("{:.1f} {}", *factor.lost_ns / scale.divisor, scale.unit);
      line.share = factor.percent ? fmt::format("{:.0f}%", *factor.percent) : "to level 4";
    } else {
      line.reason = factor.reason;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<QuestionText> question_texts(const Verdict& verdict) {
  std::vector<QuestionText> texts;
  for (const Headliners& headliner : headliners()) {
    for (const auto& line : verdict.questions) {
      if (line.question == headliner.question) {
        texts.push_back(question_text(line, headliner));
      }
    }
  }
  return texts;
}

std::string why_text(const Verdict& verdict) {
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

std::string claim_source_text(const Verdict& verdict) {
  constexpr size_t longest_id = 60;
  if (!verdict.claim_source) {
    return "";
  }
  const Claim& claim = *verdict.claim_source;
  std::string text = fmt::format("{} of {} ({}", safe_text_middle(claim.id, longest_id),
                                 safe_text_middle(claim.file, longest_id), claim.format);
  text += claim.device.empty() ? ", GPU unknown)" : fmt::format(", {})", safe_text_middle(claim.device, longest_id));
  if (claim.baseline_ns && claim.candidate_ns) {
    text +=
        fmt::format(", {} against {}", format_value(*claim.baseline_ns, "ns"), format_value(*claim.candidate_ns, "ns"));
  }
  for (const verdict::Cause& caution : verdict.cautions) {
    text += caution.code.starts_with("claim_") ? "; " + caution.what : "";
  }
  return text;
}

std::string isolated_text(const Verdict& verdict) {
  constexpr std::pair<std::string_view, std::string_view> parts[] = {
      {"occupancy.isolated", "occupancy"},     {"occupancy.isolated.retained", "here ÷ isolated"},
      {"dram.isolated", "DRAM per execution"}, {"dram.locality", "DRAM here ÷ isolated"},
      {"occupancy.isolated.cycles", "cycles"}, {"occupancy.isolated.slow_down", "duration here ÷ isolated"},
  };
  std::string text, reason;
  for (const auto& [id, label] : parts) {
    for (const auto& line : verdict.questions) {
      for (const Finding& finding : line.candidate) {
        if (finding.id == id && finding.value) {
          text += fmt::format("{}{} {}", text.empty() ? "" : "; ", label, format_value(*finding.value, finding.unit));
        } else if (finding.id == id && reason.empty()) {
          reason = finding.reason;
        }
      }
    }
  }
  return text.empty() && !reason.empty() ? "unavailable: " + reason : text;
}

std::string advice_text(const Verdict& verdict) {
  std::string advice;
  for (const std::string& line : verdict.advice) {
    advice += (advice.empty() ? "" : "; ") + line;
  }
  return advice.empty() ? "nothing: the claim stands" : advice;
}

std::string cost_text(const Verdict& verdict) {
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

}  // namespace kvet::report
