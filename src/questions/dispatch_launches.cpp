// Dispatch, launch by launch: what the call cost, how far ahead it was, and what the GPU added.
#include <fmt/core.h>

#include <limits>

#include "questions/dispatch_parts.h"
#include "questions/distribution.h"
#include "questions/make_finding.h"

namespace kvet::questions {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

DistributionOf described(const DispatchContext& context, const Dispatcher& dispatcher, std::string id,
                         std::string what) {
  return {Question::dispatch, std::move(id), context.subject,    dispatcher.label,
          std::move(what),    "ns",          Evidence::measured, 0,
          minus_infinity};
}

}  // namespace

void append_launch_cost(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                        const std::string& way, const std::vector<uint32_t>& calls) {
  if (calls.empty()) {
    return;
  }
  std::vector<double> whole, on, off;
  for (uint32_t index : calls) {
    const ApiCall& call = context.capture.api_calls[index];
    const int64_t duration = call.end_ns - call.start_ns;
    const int64_t away = dispatcher.thread->off_cpu_within(call.start_ns, call.end_ns);
    whole.push_back(static_cast<double>(duration));
    on.push_back(static_cast<double>(duration - away));
    off.push_back(static_cast<double>(away));
  }
  const std::string id = "dispatch." + way + ".launch_cost";
  append_distribution(findings, described(context, dispatcher, id, "Time inside the launch call"), whole);
  if (context.sources.scheduler) {
    append_distribution(findings,
                        described(context, dispatcher, id + ".on_cpu", "Time on the CPU inside the launch call"), on);
    append_distribution(
        findings, described(context, dispatcher, id + ".off_cpu", "Time off the CPU inside the launch call"), off);
  } else {
    const Missing missing = no_scheduler(context.capture);
    for (const char* part : {".on_cpu", ".off_cpu"}) {
      Finding finding =
          unavailable(Question::dispatch, id + part, context.subject, "ns", missing.reason, missing.advice);
      finding.beside = dispatcher.label;
      findings.push_back(std::move(finding));
    }
  }
}

void append_timing(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher,
                   const std::string& way, const std::vector<const Launch*>& launches) {
  std::vector<double> lead, delay;
  for (const Launch* launch : launches) {
    const int64_t returned = context.capture.api_calls[*launch->call].end_ns;
    // Where nothing was seen in the stream before, the stream was ready all along: only the return counts.
    const int64_t from = launch->ready_ns ? std::max(*launch->ready_ns, returned) : returned;
    delay.push_back(static_cast<double>(launch->first_start_ns - from));
    if (launch->ready_ns) {
      lead.push_back(static_cast<double>(*launch->ready_ns - returned));
    }
  }
  const char* unseen =
      dispatcher.one_stream ? "" : " (waits for events of other streams are not recorded: a lower bound)";
  const char* of_graph = way == "graph" ? " of the graph's first work" : "";
  if (!lead.empty()) {
    DistributionOf of = described(
        context, dispatcher, "dispatch." + way + ".lead",
        fmt::format("How far ahead of the stream the launch call returned; negative: the GPU waited for it{}", unseen));
    of.evidence = dispatcher.one_stream ? Evidence::measured : Evidence::attributed;
    append_distribution(findings, of, lead);
  } else if (!launches.empty()) {
    Finding finding = unavailable(Question::dispatch, "dispatch." + way + ".lead", context.subject, "ns",
                                  "nothing ran in the stream before any of these launches", "Record for longer");
    finding.beside = dispatcher.label;
    findings.push_back(std::move(finding));
  }
  if (!delay.empty()) {
    DistributionOf of = described(
        context, dispatcher, "dispatch." + way + ".start_delay",
        fmt::format(
            "Start{} after both its stream was ready and the call had returned: what the GPU added; negative: it began "
            "before the call returned{}",
            of_graph, dispatcher.one_stream ? "" : " (waits for events of other streams count in: an upper bound)"));
    of.evidence = dispatcher.one_stream ? Evidence::measured : Evidence::attributed;
    append_distribution(findings, of, delay);
  }
}

}  // namespace kvet::questions
