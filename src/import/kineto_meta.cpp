#include "import/kineto_meta.h"

#include <fmt/core.h>

namespace kvet::importing {

void write_meta(EventSink& sink, const std::vector<KinetoTrace>& traces, const KinetoClock& clock) {
  auto say = [&](const char* key, const std::string& value) { sink.on(Meta{key, value}); };
  say("tier", "imported");
  say("import.format", "PyTorch profiler JSON");
  std::string files, ranks;
  KinetoSummary sum;
  bool amd = false;
  for (const KinetoTrace& trace : traces) {
    files += (files.empty() ? "" : "\n") + trace.name.substr(trace.name.rfind('/') + 1);
    if (trace.facts.rank) {
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", *trace.facts.rank);
    }
    sum.ranges += trace.summary.ranges;
    sum.collectives += trace.summary.collectives;
    sum.graph_launches += trace.summary.graph_launches;
    sum.graph_nodes += trace.summary.graph_nodes;
    amd = amd || trace.facts.amd;
  }
  say("import.files", files);
  const KinetoFacts& first = traces.front().facts;
  if (!first.schema_version.empty()) {
    say("import.version", first.schema_version);
  }
  if (!ranks.empty()) {
    say("import.ranks", ranks);
  }
  say("import.clock", clock.description);
  if (clock.base_ns) {
    say("import.base_time_ns", fmt::format("{}", *clock.base_ns));
  }
  if (!first.cuda_driver_version.empty()) {
    say("driver_version", first.cuda_driver_version);
  }
  // A reason, a colon, and what adds it.
  const char* record_with = amd ? "no tool that kvet reads adds them for this device"
                                : "record with `kvet record -- CMD` as root, or with `nsys profile "
                                  "--cpuctxsw=process-tree` and export to SQLite";
  say("source.sched", fmt::format("a PyTorch profiler trace has no scheduler events: {}", record_with));
  say("counters.mode", "off");
  say("counters.status",
      fmt::format(
          "a PyTorch profiler trace has no hardware counters (its \"est. achieved occupancy %\" is computed from "
          "launch parameters): {}",
          amd ? "no tool that kvet reads adds them for this device"
              : "record with `kvet record -- CMD`, or with `nsys profile --gpu-metrics-devices=all`"));
  if (sum.graph_launches > 0 && sum.graph_nodes == 0) {
    say("source.graph_nodes",
        fmt::format("the trace does not say which graph node a kernel is: {}",
                    amd ? "no tool that kvet reads adds them for this device"
                        : "record with `kvet record -- CMD`, or with `nsys profile --cuda-graph-trace=node`"));
  }
  if (sum.ranges == 0) {
    say("source.nvtx",
        "the trace has no user annotations: call prof.step() once per step, or mark steps with "
        "torch.profiler.record_function");
  }
  if (sum.collectives == 0) {
    say("source.nccl",
        "the trace has no arguments of collectives: profile a job that uses torch.distributed with PyTorch 2.2 or "
        "newer "
        "and record_shapes=True, or record with `kvet record -- CMD`");
  }
}

}  // namespace kvet::importing
