#include "verdict/ledger.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace kvet::verdict {

bool is_collective_kernel(std::string_view raw_name) {
  return raw_name.find("ncclDevKernel") != std::string_view::npos ||
         raw_name.find("ncclKernel") != std::string_view::npos;
}

namespace {

enum class Kind : uint8_t { set, other, collective, copy };
struct Busy {
  int64_t start, end;
  Kind kind;
  uint32_t name;  // StringId
  StreamKey stream;
};

struct Parts {
  double set_alone = 0, set_beside = 0, copies = 0, collectives = 0, idle = 0, idle_before_set = 0;
  std::map<uint32_t, double> kernels;
};

std::vector<Busy> busy_times(const Capture& capture, const questions::KernelSet& set, DeviceId device) {
  std::vector<bool> collective(capture.shapes.size());
  for (size_t i = 0; i < capture.shapes.size(); ++i) {
    collective[i] = is_collective_kernel(capture.text(capture.shapes[i].name));
  }
  std::vector<Busy> busy;
  for (const Execution& execution : capture.executions) {
    if (execution.device == device && execution.end_ns > execution.start_ns) {
      Kind kind = set.contains(execution.shape)       ? Kind::set
                  : collective[execution.shape.value] ? Kind::collective
                                                      : Kind::other;
      busy.push_back({execution.start_ns,
                      execution.end_ns,
                      kind,
                      capture.shapes[execution.shape.value].name.value,
                      {execution.process.value, execution.context_id, execution.stream_id}});
    }
  }
  for (const Transfer& transfer : capture.transfers) {
    if (transfer.device == device && transfer.end_ns > transfer.start_ns) {
      busy.push_back({transfer.start_ns,
                      transfer.end_ns,
                      Kind::copy,
                      0,
                      {transfer.process.value, transfer.context_id, transfer.stream_id}});
    }
  }
  std::sort(busy.begin(), busy.end(), [](const Busy& a, const Busy& b) { return a.start < b.start; });
  return busy;
}

// Adds a stretch of time in which exactly `active` ran.
void add(Parts& parts, const std::vector<const Busy*>& active, double length) {
  if (active.empty()) {
    parts.idle += length;
    return;
  }
  auto has = [&](Kind kind) {
    return std::any_of(active.begin(), active.end(), [&](const Busy* busy) { return busy->kind == kind; });
  };
  if (has(Kind::set)) {
    bool beside = false;
    for (const Busy* mine : active) {
      for (const Busy* theirs : active) {
        // Overlap inside one stream is programmatic dependent launch: not a sibling.
        beside =
            beside || (mine->kind == Kind::set && (theirs->kind == Kind::other || theirs->kind == Kind::collective) &&
                       mine->stream != theirs->stream);
      }
    }
    (beside ? parts.set_beside : parts.set_alone) += length;
  } else if (has(Kind::other)) {
    std::set<uint32_t> names;
    for (const Busy* busy : active) {
      if (busy->kind == Kind::other) {
        names.insert(busy->name);
      }
    }
    for (uint32_t name : names) {
      parts.kernels[name] += length / static_cast<double>(names.size());
    }
  } else {
    (has(Kind::collective) ? parts.collectives : parts.copies) += length;
  }
}

// One device over sorted disjoint spans.
void sweep(const std::vector<Busy>& busy, const std::vector<TimeSpan>& spans, Parts& parts) {
  std::vector<const Busy*> active;
  size_t next = 0;
  for (const TimeSpan& span : spans) {
    int64_t now = span.from;
    double idle_since = 0;
    while (now < span.to) {
      for (; next < busy.size() && busy[next].start <= now; ++next) {
        active.push_back(&busy[next]);
      }
      std::erase_if(active, [&](const Busy* one) { return one->end <= now; });
      int64_t until = next < busy.size() ? std::min(busy[next].start, span.to) : span.to;
      for (const Busy* one : active) {
        until = std::min(until, one->end);
      }
      auto length = static_cast<double>(until - now);
      add(parts, active, length);
      if (active.empty()) {
        idle_since += length;
      }
      now = until;
      if (idle_since > 0 && next < busy.size() && busy[next].start == now) {
        if (busy[next].kind == Kind::set) {
          parts.idle_before_set += idle_since;
        }
        idle_since = 0;
      }
    }
  }
}

std::set<DeviceId> devices_of_set(const Capture& capture, const questions::KernelSet& set) {
  std::set<DeviceId> devices;
  for (const Execution& execution : capture.executions) {
    if (set.contains(execution.shape)) {
      devices.insert(execution.device);
    }
  }
  return devices;
}

std::set<uint32_t> processes_on(const Capture& capture, DeviceId device) {
  std::set<uint32_t> processes;
  for (const Execution& execution : capture.executions) {
    if (execution.device == device) {
      processes.insert(execution.process.value);
    }
  }
  return processes;
}

TimeSpan observed(const Capture& capture, const Window& window) {
  if (window.stated) {
    return window.span;
  }
  TimeSpan span{INT64_MAX, INT64_MIN};
  for (const Execution& execution : capture.executions) {
    span.from = std::min(span.from, execution.start_ns);
    span.to = std::max(span.to, execution.end_ns);
  }
  return span;
}

// 2% is what the ledger's sum may be off by, too.
constexpr double tolerated_overlap = 0.02;

// Spans per device, and the wall time and the steps that they stand for, summed over devices.
struct Walls {
  std::map<DeviceId, std::vector<TimeSpan>> spans;
  double wall = 0, steps = 0;
};

std::optional<BlockLedger> partition(const Capture& capture, const questions::KernelSet& set, const Walls& walls) {
  if (walls.steps == 0) {
    return std::nullopt;
  }
  Parts parts;
  for (const auto& [device, spans] : walls.spans) {
    sweep(busy_times(capture, set, device), spans, parts);
  }
  BlockLedger ledger;
  ledger.set_alone = parts.set_alone / walls.steps;
  ledger.set_beside = parts.set_beside / walls.steps;
  ledger.copies = parts.copies / walls.steps;
  ledger.collectives = parts.collectives / walls.steps;
  ledger.idle = parts.idle / walls.steps;
  ledger.idle_before_set = parts.idle_before_set / walls.steps;
  ledger.wall = walls.wall / walls.steps;
  for (const auto& [name, time] : parts.kernels) {
    ledger.kernels[capture.strings[name]] += time / walls.steps;
  }
  return ledger;
}

// The steps of the processes that use a device.
std::vector<Step> steps_on(const Capture& capture, const std::vector<Step>& steps, DeviceId device) {
  const std::set<uint32_t> processes = processes_on(capture, device);
  std::vector<Step> own;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(own),
               [&](const Step& step) { return processes.contains(step.process); });
  return own;
}

}  // namespace

std::optional<BlockLedger> partition_steps(const Capture& capture, const questions::KernelSet& set,
                                           const std::vector<Step>& steps) {
  Walls walls;
  for (DeviceId device : devices_of_set(capture, set)) {
    double own = 0;
    for (const Step& step : steps_on(capture, steps, device)) {
      walls.spans[device].push_back({step.start, step.end});
      own += static_cast<double>(step.end - step.start);
      ++walls.steps;
    }
    walls.spans[device] = merged(std::move(walls.spans[device]));
    if (own - static_cast<double>(total(walls.spans[device])) > tolerated_overlap * own) {
      return std::nullopt;
    }
    walls.wall += own;
  }
  return partition(capture, set, walls);
}

std::optional<BlockLedger> partition_window(const Capture& capture, const questions::KernelSet& set,
                                            const std::vector<Step>& steps, const Window& window) {
  Walls walls;
  const TimeSpan span = observed(capture, window);
  for (DeviceId device : devices_of_set(capture, set)) {
    walls.spans[device] = {span};
    walls.wall += static_cast<double>(span.to - span.from);
    walls.steps += static_cast<double>(steps_on(capture, steps, device).size());
  }
  return partition(capture, set, walls);
}

std::vector<bool> solo_executions(const Capture& capture, const questions::KernelSet& set) {
  std::vector<bool> solo(capture.executions.size());
  for (size_t i = 0; i < solo.size(); ++i) {
    solo[i] = set.contains(capture.executions[i].shape);
  }
  // Executions are sorted by start: keep those still running, and mark both of each pair that overlaps across streams.
  std::vector<size_t> running;
  for (size_t i = 0; i < solo.size(); ++i) {
    const Execution& one = capture.executions[i];
    std::erase_if(running, [&](size_t other) { return capture.executions[other].end_ns <= one.start_ns; });
    for (size_t other : running) {
      const Execution& two = capture.executions[other];
      bool same_stream =
          one.process == two.process && one.context_id == two.context_id && one.stream_id == two.stream_id;
      if (one.device == two.device && !same_stream && one.end_ns > one.start_ns) {
        solo[i] = solo[other] = false;
      }
    }
    running.push_back(i);
  }
  return solo;
}

}  // namespace kvet::verdict
