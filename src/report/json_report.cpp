#include "report/names.h"
#include "report/report.h"

namespace kvet::report {
namespace {

Json facts_json(const CaptureFacts& facts) {
  Json devices = Json::array();
  for (const std::string& device : facts.devices) {
    devices.push(device);
  }
  Json counts = Json::object();
  counts.set("processes", facts.processes).set("launches", facts.launches).set("executions", facts.executions);
  counts.set("transfers", facts.transfers).set("samples", facts.samples).set("lost", facts.lost);
  Json out = Json::object();
  out.set("path", facts.path).set("complete", facts.complete).set("tier", facts.tier).set("command", facts.command);
  out.set("recorded_by", facts.recorded_by).set("devices", std::move(devices)).set("duration_ns", facts.duration_ns);
  Json window;
  if (facts.window_ns) {
    window.set("from", facts.window_ns->low).set("to", facts.window_ns->high);
  }
  out.set("window_ns", std::move(window));
  out.set("counters", facts.counters).set("counts", std::move(counts));
  return out;
}

Json findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push(finding_json(finding));
  }
  return list;
}

}  // namespace

Json finding_json(const Finding& finding) {
  Json out = Json::object();
  out.set("id", finding.id)
      .set("question", name(finding.question))
      .set("subject", finding.subject)
      .set("beside", finding.beside);
  out.set("value", finding.value).set("unit", finding.unit);
  Json interval;
  if (finding.interval) {
    interval.set("low", finding.interval->low).set("high", finding.interval->high);
  }
  out.set("interval", std::move(interval))
      .set("observations", finding.observations)
      .set("evidence", name(finding.evidence));
  out.set("sentence", finding.sentence).set("reason", finding.reason).set("advice", finding.advice);
  return out;
}

Json render_json(const std::vector<CaptureReport>& reports, const std::string& kvet_version) {
  Json captures = Json::array();
  for (const CaptureReport& report : reports) {
    Json kernels = Json::array();
    for (const KernelSection& kernel : report.kernels) {
      Json entry = Json::object();
      entry.set("name", kernel.name)
          .set("short_name", short_name(kernel.name, 100))
          .set("executions", kernel.executions);
      entry.set("time_ns", kernel.time_ns).set("share_percent", kernel.share_percent);
      entry.set("findings", findings_json(kernel.findings));
      kernels.push(std::move(entry));
    }
    Json left_out = Json::object();
    left_out.set("kernels", report.kernels_left_out).set("share_percent", report.left_out_percent);
    Json capture = facts_json(report.facts);
    capture.set("findings", findings_json(report.findings))
        .set("kernels", std::move(kernels))
        .set("left_out", std::move(left_out));
    captures.push(std::move(capture));
  }
  Json root = Json::object();
  root.set("schema", "kvet.report/1").set("kvet_version", kvet_version).set("captures", std::move(captures));
  return root;
}

}  // namespace kvet::report
