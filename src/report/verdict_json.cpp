#include "report/verdict_json.h"

#include <fmt/core.h>

#include "report/report.h"

namespace kvet::report {
namespace {

template <class T, class Function>
Json list_of(const std::vector<T>& values, Function make) {
  Json list = Json::array();
  for (const T& value : values) {
    list.push(make(value));
  }
  return list;
}

Json text_list(const std::vector<std::string>& values) {
  return list_of(values, [](const std::string& value) { return Json(value); });
}

Json interval_json(const std::optional<Interval>& interval) {
  Json json;
  if (interval) {
    json.set("low", interval->low).set("high", interval->high);
  }
  return json;
}

Json estimate_json(const std::optional<verdict::Estimate>& estimate) {
  Json json;
  if (estimate) {
    json.set("ratio", estimate->ratio).set("interval", interval_json(estimate->interval));
    json.set("confidence", estimate->confidence).set("units", estimate->units).set("unit_name", estimate->unit_name);
  }
  return json;
}

Json level_json(const verdict::Level& level) {
  Json json = Json::object();
  json.set("number", level.number)
      .set("id", level.id)
      .set("what", level.what)
      .set("estimate", estimate_json(level.estimate));
  json.set("reason", level.reason).set("advice", level.advice);
  json.set("held_against", level.held_against).set("held_against_name", level.held_against_name);
  json.set("baseline", level.baseline).set("candidate", level.candidate).set("unit", level.unit);
  return json;
}

Json cause_json(const verdict::Cause& cause) {
  Json json = Json::object();
  return json.set("code", cause.code).set("what", cause.what).set("fix", cause.fix);
}

Json ledger_json(const verdict::Ledger& ledger) {
  Json json = Json::object();
  json.set("wall", ledger.wall).set("reason", ledger.reason);
  json.set("baseline_wall_ns", ledger.baseline_wall_ns).set("candidate_wall_ns", ledger.candidate_wall_ns);
  json.set("residual_ns", ledger.residual_ns).set("tolerance_ns", ledger.tolerance_ns).set("adds_up", ledger.adds_up);
  json.set("rows", list_of(ledger.rows, [](const verdict::LedgerRow& row) {
             Json one = Json::object();
             one.set("id", row.id).set("kernel", row.kernel).set("baseline_ns", row.baseline_ns);
             one.set("candidate_ns", row.candidate_ns).set("difference_ns", row.difference_ns);
             return one.set("difference_interval", interval_json(row.difference_interval));
           }));
  return json;
}

Json factor_json(const verdict::Factor& factor) {
  Json json = Json::object();
  json.set("id", factor.id).set("kind", "associated").set("lost_log", factor.lost_log);
  json.set("interval", interval_json(factor.interval)).set("lost_ns", factor.lost_ns);
  return json.set("percent", factor.percent).set("reason", factor.reason);
}

Json claim_json(const std::optional<Claim>& claim) {
  Json json;
  if (claim) {
    json.set("format", claim->format).set("file", claim->file).set("id", claim->id).set("where", claim->where);
    json.set("device", claim->device.empty() ? Json() : Json(claim->device));
    json.set("ratio", claim->ratio).set("baseline_ns", claim->baseline_ns).set("candidate_ns", claim->candidate_ns);
  }
  return json;
}

Json kernel_json(const verdict::KernelInSet& kernel) {
  Json json = Json::object();
  json.set("name", kernel.name);
  // 64 bits do not fit into the numbers that most JSON readers use.
  json.set("code_hash", kernel.code_hash == 0 ? Json() : Json(fmt::format("{:016x}", kernel.code_hash)));
  json.set("baseline", kernel.baseline).set("candidate", kernel.candidate);
  return json.set("executions", kernel.executions).set("time_ns", kernel.time_ns);
}

Json line_json(const verdict::QuestionLine& line) {
  Json json = Json::object();
  json.set("question", name(line.question)).set("baseline", list_of(line.baseline, finding_json));
  return json.set("candidate", list_of(line.candidate, finding_json));
}

}  // namespace

Json verdict_json(const verdict::Verdict& verdict, const std::string& kvet_version) {
  Json root = Json::object();
  root.set("schema", "kvet.verdict/1").set("kvet_version", kvet_version);
  root.set("word", verdict::name(verdict.word)).set("likely", verdict.likely);
  root.set("exit_status", verdict::exit_status(verdict.word, verdict.likely)).set("headline", verdict.headline);
  root.set("claim", verdict.claim).set("margin_log", verdict.margin_log).set("threshold_log", verdict.threshold_log);
  root.set("claim_source", claim_json(verdict.claim_source));
  root.set("levels", list_of(verdict.levels, level_json));
  root.set("reproduced", verdict.reproduced).set("kept", verdict.kept).set("kept_reason", verdict.kept_reason);
  root.set("refusals", list_of(verdict.refusals, cause_json)).set("invalid", list_of(verdict.invalid, cause_json));
  root.set("caps", list_of(verdict.caps, cause_json)).set("cautions", list_of(verdict.cautions, cause_json));
  root.set("end_to_end_undecided", Json(verdict.end_to_end_undecided));
  root.set("spans", list_of(verdict.spans, [](verdict::Word word) { return Json(verdict::name(word)); }));
  root.set("more_units", verdict.more_units).set("more_units_reason", verdict.more_units_reason);
  root.set("kernel_set", list_of(verdict.kernel_set, kernel_json)).set("kernel_set_how", verdict.kernel_set_how);
  root.set("left_out", list_of(verdict.left_out, [](const verdict::KernelLeftOut& left_out) {
             Json json = Json::object();
             return json.set("name", left_out.name).set("why", left_out.why);
           }));
  root.set("step", verdict.step).set("quads", verdict.quads).set("looked_at", verdict.looked_at);
  root.set("aa_quads", verdict.aa_quads).set("aa", estimate_json(verdict.aa));
  root.set("ledger", ledger_json(verdict.ledger));
  root.set("where_reference", verdict.where_reference);
  root.set("where_it_went", list_of(verdict.where_it_went, factor_json));
  root.set("questions", list_of(verdict.questions, line_json)).set("cost", list_of(verdict.cost, finding_json));
  root.set("check", verdict.check).set("advice", text_list(verdict.advice));
  root.set("look_further", text_list(verdict.look_further));
  root.set("captures_baseline", text_list(verdict.captures_baseline));
  root.set("captures_candidate", text_list(verdict.captures_candidate));
  return root;
}

}  // namespace kvet::report
