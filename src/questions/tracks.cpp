#include "questions/tracks.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/demangle.h"
#include "base/safe_text.h"
#include "model/facts.h"
#include "questions/loss_words.h"
#include "questions/quality_parts.h"
#include "questions/tracks_parts.h"

namespace kvet::questions {
namespace {

// A name on every slice of a million: what is longer is cut in the middle, where template arguments repeat themselves.
constexpr size_t longest_name = 480;
constexpr size_t longest_fact = 4096;

TimelineClock clock_of(const Capture& capture) {
  TimelineClock clock{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), false, std::nullopt};
  auto cover = [&](const auto& events) {
    for (const auto& event : events) {
      clock.first_ns = std::min(clock.first_ns, event.start_ns);
      clock.last_ns = std::max(clock.last_ns, event.end_ns);
    }
  };
  cover(capture.api_calls);
  cover(capture.executions);
  cover(capture.transfers);
  cover(capture.ranges);
  cover(capture.off_cpu);
  cover(capture.collective_calls);
  cover(capture.samples);
  for (const DeviceReading& reading : capture.device_readings) {
    clock.first_ns = std::min(clock.first_ns, reading.time_ns);
    clock.last_ns = std::max(clock.last_ns, reading.time_ns);
  }
  if (clock.first_ns > clock.last_ns) {
    clock.first_ns = clock.last_ns = 0;  // an empty capture
  }
  const auto monotonic = time_fact(capture, "clock.monotonic_ns"), realtime = time_fact(capture, "clock.realtime_ns");
  clock.monotonic = monotonic.has_value();
  if (monotonic && realtime) {
    clock.realtime = {*monotonic, *realtime};
  }
  return clock;
}

}  // namespace

TrackBook::TrackBook(const Capture& of, const TimelineClock& its_clock, TimelineSink& to)
    : capture(of), clock(its_clock), sink(to), of_string_(of.strings.size()), of_kernel_(of.strings.size()) {
  // Pids are reused, and files of several machines have the same: a viewer would make one process of two.
  std::map<int32_t, uint32_t> seen;
  for (const Process& process : capture.processes) {
    ++seen[process.pid];
  }
  for (const Process& process : capture.processes) {
    pid_is_unique_.push_back(process.pid > 0 && seen[process.pid] == 1);
  }
}

const TimelineName* TrackBook::keep(std::string text) {
  const auto found = names_.find(text);
  if (found != names_.end()) {
    return &found->second;
  }
  TimelineName name{{static_cast<uint32_t>(names_.size())}, text};
  return &names_.emplace(std::move(text), std::move(name)).first->second;
}

const TimelineName* TrackBook::name(std::string_view raw) { return keep(safe_text_middle(raw, longest_name)); }

const TimelineName* TrackBook::name(StringId id) {
  const TimelineName*& known = of_string_[id.value];
  if (known == nullptr) {
    known = name(capture.text(id));
  }
  return known;
}

const TimelineName* TrackBook::kernel(StringId mangled) {
  const TimelineName*& known = of_kernel_[mangled.value];
  if (known == nullptr) {
    const std::string decoded = demangle(capture.text(mangled));
    known = name(decoded.empty() ? std::string_view{"(kernel without a name)"} : decoded);
  }
  return known;
}

TrackId TrackBook::tell(TimelineTrack track) {
  track.id = TrackId{tracks_++};
  track.name = safe_text_middle(track.name, longest_name);
  sink.on(track);
  return track.id;
}

TrackId TrackBook::make(std::optional<TrackId> parent, TrackKind kind, std::string_view name, std::string unit,
                        uint32_t lane) {
  return tell({{}, parent, kind, std::string(name), lane, std::move(unit), std::nullopt, std::nullopt});
}

TrackId TrackBook::process(ProcessId id) {
  const auto found = processes_.find(id.value);
  if (found != processes_.end()) {
    return found->second;
  }
  const Process& process = capture.processes[id.value];
  const bool unique = pid_is_unique_[id.value];
  const std::string& known = capture.text(process.name);
  const std::string name = known.empty() ? "process" : known;
  TimelineTrack track;
  track.kind = TrackKind::process;
  track.name = unique ? name : fmt::format("{}, pid {} (process {})", name, process.pid, id.value);
  track.pid = unique ? std::optional{process.pid} : std::nullopt;
  return processes_[id.value] = tell(std::move(track));
}

TrackId TrackBook::thread(const ThreadKey& key) {
  const auto found = threads_.find(key);
  if (found != threads_.end()) {
    return found->second;
  }
  TimelineTrack track;
  track.parent = process(ProcessId{key.first});
  track.kind = TrackKind::thread;
  track.name = fmt::format("thread {}", key.second);
  if (pid_is_unique_[key.first] && key.second > 0) {
    track.pid = capture.processes[key.first].pid;
    track.thread_id = key.second;
  }
  return threads_[key] = tell(std::move(track));
}

TrackId TrackBook::device(DeviceId id) {
  const auto found = devices_.find(id.value);
  return found != devices_.end()
             ? found->second
             : devices_[id.value] = make(std::nullopt, TrackKind::device, device_label(capture, id));
}

TrackId TrackBook::process_device(ProcessId process_id, DeviceId device_id) {
  const auto key = std::pair{process_id.value, device_id.value};
  const auto found = process_devices_.find(key);
  return found != process_devices_.end() ? found->second
                                         : process_devices_[key] = make(process(process_id), TrackKind::process_device,
                                                                        device_label(capture, device_id));
}

TrackId LanedTrack::at(int64_t start_ns, int64_t end_ns) {
  const size_t lane = lanes_.place(start_ns, end_ns);
  if (lane >= tracks_.size()) {
    tracks_.resize(lane + 1);
  }
  if (!tracks_[lane]) {
    tracks_[lane] = book_->make(parent_, kind_, name_, {}, static_cast<uint32_t>(lane));
  }
  return *tracks_[lane];
}

void tell_losses(TrackBook& book) {
  std::vector<std::pair<Span, const Loss*>> losses;
  losses.reserve(book.capture.losses.size());
  for (const Loss& loss : book.capture.losses) {
    // Where nothing says when, it may have been at any time.
    const int64_t from =
        std::clamp(loss.first_ns.value_or(book.clock.first_ns), book.clock.first_ns, book.clock.last_ns);
    const int64_t to = std::clamp(loss.last_ns.value_or(book.clock.last_ns), from, book.clock.last_ns);
    losses.push_back({{from, to}, &loss});
  }
  std::ranges::stable_sort(losses, {}, [](const auto& one) { return one.first.from; });
  std::optional<LanedTrack> track;
  for (const auto& [span, loss] : losses) {
    if (!track) {
      const TrackId group = book.make(std::nullopt, TrackKind::device, "Not recorded");
      track.emplace(book, group, TrackKind::losses, "Losses", Lanes::Nesting::none);
    }
    const TimelineArgument arguments[] = {{"records", loss->count}};
    TimelineSlice slice;
    slice.track = track->at(span.from, span.to);
    slice.start_ns = span.from;
    slice.end_ns = span.to;
    slice.name =
        book.name(fmt::format("{}: {}", source_name(loss->source), explain_loss(loss->source, loss->kind).what));
    slice.category = "loss";
    slice.arguments = arguments;
    book.sink.on(slice);
  }
}

void tell_timeline(const Capture& capture, TimelineSink& sink) {
  TrackBook book(capture, clock_of(capture), sink);
  std::vector<std::pair<std::string, std::string>> facts;
  facts.reserve(capture.meta.size());
  for (const auto& [key, value] : capture.meta) {
    facts.emplace_back(safe_text(key, longest_fact), safe_text(value, longest_fact));
  }
  sink.begin(book.clock, facts);
  tell_counters(book);
  const LaunchFlows flows(capture);
  tell_device_work(book, flows);
  tell_collectives(book);
  tell_threads(book, flows);
  tell_losses(book);
}

}  // namespace kvet::questions
