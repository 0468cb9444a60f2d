#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "report/format.h"
#include "report/report.h"

namespace kvet::report {
namespace {

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool launches_work(ApiKind kind) {
  return kind == ApiKind::launch_kernel || kind == ApiKind::launch_cooperative || kind == ApiKind::launch_graph;
}

}  // namespace

CaptureFacts facts_of(const Capture& capture) {
  CaptureFacts facts;
  facts.path = capture.path;
  facts.complete = capture.complete;
  facts.tier = capture.fact("tier");
  facts.command = capture.fact("command");
  facts.recorded_by = capture.fact("kvet_version");
  for (const Device& device : capture.devices) {
    facts.devices.push_back(capture.text(device.name));
  }
  const auto start = whole_number(capture.fact("record.start_ns"));
  const auto end = whole_number(capture.fact("record.end_ns"));
  if (start && end && *end >= *start && *start >= 0) {
    facts.duration_ns = *end - *start;
  }
  facts.counters = capture.fact("counters.mode");
  if (const std::string_view status = capture.fact("counters.status"); !status.empty() && status != "ok") {
    facts.counters += ": " + std::string(status);
  } else if (const auto interval = whole_number(capture.fact("counters.interval_ns"));
             interval && !facts.counters.empty()) {
    facts.counters += " every " + format_value(static_cast<double>(*interval), "ns");
  }
  facts.processes = capture.processes.size();
  facts.launches = static_cast<uint64_t>(std::count_if(capture.api_calls.begin(), capture.api_calls.end(),
                                                       [](const ApiCall& call) { return launches_work(call.kind); }));
  facts.executions = capture.executions.size();
  facts.transfers = capture.transfers.size();
  facts.samples = capture.samples.size();
  for (const Loss& loss : capture.losses) {
    facts.lost += loss.count;
  }
  return facts;
}

}  // namespace kvet::report
