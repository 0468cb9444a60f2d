// The PyTorch profiler's traces: one file per rank.
#include "import/kineto.h"

#include <fmt/core.h>

#include <algorithm>

#include "import/entities.h"
#include "import/formats.h"
#include "import/kineto_clocks.h"
#include "import/kineto_events.h"
#include "import/kineto_file.h"
#include "import/kineto_meta.h"

namespace kvet::importing {
namespace {

Result<KinetoTrace> read_one(const KinetoInput& input, EventSink* sink, Entities* entities, size_t file,
                             int64_t shift_ns) {
  auto source = input.open();
  if (!source) {
    return std::unexpected(source.error());
  }
  KinetoEvents events(sink, entities, file, input.name, shift_ns);
  const auto facts = read_trace(**source, input.name, [&](const KinetoEvent& event) { return events.on(event); });
  if (!facts) {
    return std::unexpected(facts.error());
  }
  if (!facts->has_events) {
    return fail(ErrorKind::bad_input, "is JSON without \"traceEvents\", so no trace", input.name,
                "Give what `torch.profiler` wrote with export_chrome_trace");
  }
  if (const auto rank = facts->rank, ranks = facts->ranks;
      (rank && *rank < 0) || (ranks && *ranks < 1) || (rank && ranks && *rank >= *ranks)) {
    return fail(
        ErrorKind::bad_input,
        fmt::format("says in its distributedInfo that it is of rank {}{}: there is no such rank",
                    rank ? fmt::format("{}", *rank) : "(none)", ranks ? fmt::format(" of a world of {}", *ranks) : ""),
        input.name, "Profile again, or mend \"rank\" and \"world_size\" there");
  }
  events.finish(*facts);
  if (facts->kernels == 0) {
    return fail(
        ErrorKind::bad_input,
        fmt::format("holds no kernels: {} of its {} events are of kinds that kvet reads, none of them a run of a "
                    "kernel",
                    facts->kept, facts->kept + facts->skipped),
        input.name,
        "Profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], and steps that use the device");
  }
  if (!events.summary().first_ns) {
    return fail(ErrorKind::bad_input,
                fmt::format("holds no event with a possible time: all {} were set aside", events.summary().quarantined),
                input.name, "Profile again");
  }
  return KinetoTrace{input.name, *facts, events.summary()};
}

Result<void> read_all(const std::vector<KinetoInput>& inputs, EventSink& sink) {
  std::vector<int64_t> shifts(1, 0);
  KinetoClock clock;
  std::vector<KinetoTrace> traces;
  if (inputs.size() > 1) {
    for (size_t file = 0; file < inputs.size(); ++file) {
      auto trace = read_one(inputs[file], nullptr, nullptr, file, 0);
      if (!trace) {
        return std::unexpected(trace.error());
      }
      traces.push_back(std::move(*trace));
    }
    if (auto one_run = ranks_of_one_run(traces); !one_run) {
      return one_run;
    }
    auto common = common_clock(traces);
    if (!common) {
      return std::unexpected(common.error());
    }
    clock = std::move(*common);
    shifts = clock.shifts_ns;
    traces.clear();
  }
  Entities entities(sink);
  ClockMapping mapping;
  mapping.source = ClockSource::imported;
  sink.on(mapping);
  for (size_t file = 0; file < inputs.size(); ++file) {
    auto trace = read_one(inputs[file], &sink, &entities, file, shifts[file]);
    if (!trace) {
      return std::unexpected(trace.error());
    }
    traces.push_back(std::move(*trace));
  }
  if (inputs.size() == 1) {
    clock = own_clock(traces.front());
  }
  write_meta(sink, traces, clock);
  return {};
}

}  // namespace

Result<void> import_traces(const std::vector<KinetoInput>& inputs, EventSink& sink) { return read_all(inputs, sink); }

Result<void> import_kineto(const std::vector<std::string>& paths, EventSink& sink) {
  std::vector<KinetoInput> inputs;
  for (const std::string& path : paths) {
    inputs.push_back({path, [path] { return open_bytes(path); }});
  }
  return import_traces(inputs, sink);
}

}  // namespace kvet::importing
