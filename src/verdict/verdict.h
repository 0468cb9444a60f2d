// What a comparison of two arms comes to: plain values, rendered by report/, described in docs/verdict-schema.md.
// Ratios are baseline time ÷ candidate time: above 1 is a gain. Times are nanoseconds. Nothing here is computed on
// reading: a renderer that finds an empty optional prints the reason beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/claim.h"
#include "model/finding.h"

namespace kvet::verdict {

enum class Word : uint8_t { survives, partial, vanishes, regresses, invalid, inconclusive, refused };
enum class Arm : uint8_t { baseline, candidate };

[[nodiscard]] const char* name(Word word);  // "SURVIVES", …
[[nodiscard]] const char* name(Arm arm);
// Of validate, try and compare. "likely" is never a pass: it exits as INCONCLUSIVE.
[[nodiscard]] int exit_status(Word word, bool likely);

// A ratio with its interval. Without an interval it is one observation.
struct Estimate {
  double ratio = 1;
  std::optional<Interval> interval;  // of the ratio, at `confidence`
  double confidence = 0;
  uint64_t units = 0;
  std::string unit_name;  // "quads", "slices of one run"
};

// One rung from the claim to what the workload prints.
struct Level {
  int number = 0;  // 1 to 5
  std::string id;  // "isolated", "alone", "set", "step", "end_to_end"
  std::string what;
  std::optional<Estimate> estimate;
  std::string reason, advice;  // where there is no estimate
  std::optional<double> held_against;  // the ratio that this level is judged by
  std::string held_against_name;  // "claim", "ceiling"
  std::optional<double> baseline, candidate;  // the figures behind it, means over blocks
  std::string unit;
};

// Why a word is not what it might have been. Codes are stable and listed in docs/verdict-schema.md.
struct Cause {
  std::string code;
  std::string what;
  std::string fix;
};

struct LedgerRow {
  std::string id;  // "set_alone", "set_beside_siblings", "kernel", "other_kernels", "copies", "collectives", "idle"
  std::string kernel;  // for "kernel": its raw name
  double baseline_ns = 0, candidate_ns = 0, difference_ns = 0;  // per step; difference: candidate − baseline
  std::optional<Interval> difference_interval;
};
struct Ledger {
  std::string wall;  // which wall time was partitioned
  std::vector<LedgerRow> rows;
  double baseline_wall_ns = 0, candidate_wall_ns = 0;
  // |sum of the rows' differences − difference of the walls|, and how much the definition allows.
  double residual_ns = 0, tolerance_ns = 0;
  bool adds_up = false;
  std::string reason;  // where there is no ledger
};

// One factor between the claim (or level 1) and level 3. Associated, not shown by experiment.
struct Factor {
  std::string id;  // "clock", "co_residency", "shape_mix", "unexplained", "launch_gaps"
  std::optional<double> lost_log;  // part of ln(reference) − ln(r₃); positive: gain that was lost
  std::optional<Interval> interval;
  std::optional<double> lost_ns;  // per step
  std::optional<double> percent;  // of the reference's gain
  std::string reason;  // where it is not known
};

struct KernelInSet {
  std::string name;  // raw
  uint64_t code_hash = 0;  // 0: not told apart by code
  bool baseline = false, candidate = false;  // which arm runs it
  uint64_t executions = 0;
  double time_ns = 0;
};
struct KernelLeftOut {
  std::string name;
  std::string why;
};

struct QuestionLine {
  Question question = Question::occupancy;
  std::vector<Finding> baseline, candidate;
};

struct Verdict {
  Word word = Word::inconclusive;
  bool likely = false;  // capped: not enough to pass, whatever the word
  std::string headline;
  std::optional<double> claim;
  std::optional<Claim> claim_source;    // where the claim comes from a file
  double margin_log = 0;                // m
  std::optional<double> threshold_log;  // t

  std::vector<Level> levels;
  std::optional<double> reproduced, kept;
  std::string kept_reason;  // where kept is not defined

  std::vector<Cause> refusals, invalid, caps, cautions;
  std::vector<Word> spans;  // for INCONCLUSIVE
  bool end_to_end_undecided = false;  // INCONCLUSIVE only because level 5 may be a loss; level 3 alone has a word
  std::optional<uint64_t> more_units;
  std::string more_units_reason;

  std::vector<KernelInSet> kernel_set;
  std::vector<KernelLeftOut> left_out;
  std::string kernel_set_how;

  std::string step;  // what a step is here
  uint64_t quads = 0, aa_quads = 0, looked_at = 0;
  std::optional<Estimate> aa;
  uint64_t baseline_blocks = 0, candidate_blocks = 0;

  Ledger ledger;
  std::vector<Factor> where_it_went;
  std::string where_reference;  // "claim" or "isolated"

  std::vector<QuestionLine> questions;
  std::vector<Finding> cost;  // kvet's own overhead
  std::string check;  // "passed", "unchecked", "failed"
  std::vector<std::string> advice;
  std::vector<std::string> look_further;  // commands
  std::vector<std::string> captures_baseline, captures_candidate;  // that the word rests on
};

}  // namespace kvet::verdict
