#include "import/kineto_meta.h"

#include <fmt/core.h>

#include "import/missing.h"

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
  // What adds what is missing: another recording, where one of the tools that kvet reads knows the device.
  const auto or_nothing = [&](const char* advice) {
    return std::string(amd ? "No tool that kvet reads adds them for this device" : advice);
  };
  say_missing(sink, "sched", "a PyTorch profiler trace has no scheduler events",
              or_nothing("Record with `kvet record -- CMD` as root, or with `nsys profile --cpuctxsw=process-tree` and "
                         "export to SQLite"));
  say_no_counters(sink,
                  "a PyTorch profiler trace has no hardware counters (its \"est. achieved occupancy %\" is computed "
                  "from launch parameters)",
                  or_nothing("Record with `kvet record -- CMD`"));
  if (sum.graph_launches > 0 && sum.graph_nodes == 0) {
    say_missing(sink, "graph_nodes", "the trace does not say which graph node a kernel is",
                or_nothing("Record with `kvet record -- CMD`, or with `nsys profile --cuda-graph-trace=node`"));
  }
  if (sum.ranges == 0) {
    say_missing(sink, "nvtx", "the trace has no user annotations",
                "Call prof.step() once per step, or mark steps with torch.profiler.record_function");
  }
  if (sum.collectives == 0) {
    say_missing(sink, "nccl", "the trace has no arguments of collectives",
                "Profile a job that uses torch.distributed with PyTorch 2.2 or newer and record_shapes=True, or record "
                "with `kvet record -- CMD`");
  }
}

}  // namespace kvet::importing
