#include "export/chrome.h"

#include <fmt/core.h>

#include <iterator>

#include "base/safe_text.h"

namespace kvet::exporting {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  // Whole: a character is spelled out with eight at most.
  for (const char character : safe_text(text, 8 * text.size() + 1)) {
    switch (character) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '<': out += "\\u003c"; break;
      default: out += character;
    }
  }
  return out + '"';
}

void ChromeWriter::begin(const TimelineClock& clock, const std::vector<std::pair<std::string, std::string>>& facts) {
  base_ns_ = clock.first_ns;
  output_.write("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"kvet\"");
  output_.write(fmt::format(",\"clock\":\"{}\",\"start_ns\":\"{}\"", clock.monotonic ? "CLOCK_MONOTONIC" : "imported",
                            clock.first_ns));
  for (const auto& [key, value] : facts) {
    output_.write("," + json_string("capture." + key) + ":" + json_string(value));
  }
  output_.write("},\"traceEvents\":[");
}

void ChromeWriter::open(char phase, TrackId track) {
  event_ = fmt::format("{}\n{{\"ph\":\"{}\",\"pid\":{},\"tid\":{}", first_ ? "" : ",", phase,
                       tracks_[track.value].root + 1, track.value + 1);
  first_ = false;
}

void ChromeWriter::close() {
  event_ += '}';
  output_.write(event_);
}

void ChromeWriter::add_time(const char* key, int64_t ns) {
  fmt::format_to(std::back_inserter(event_), ",\"{}\":{}.{:03}", key, ns / 1000, ns % 1000);
}

const std::string& ChromeWriter::json_of(const TimelineName& name) {
  if (name.id.value >= names_.size()) {
    names_.resize(2 * size_t{name.id.value} + 1);
  }
  std::string& known = names_[name.id.value];
  if (known.empty()) {
    known = json_string(name.text);
  }
  return known;
}

void ChromeWriter::on(const TimelineTrack& track) {
  Track one;
  one.root = track.parent ? tracks_[track.parent->value].root : track.id.value;
  one.in_pairs = track.kind == TrackKind::thread_state || track.kind == TrackKind::collectives;
  one.name = json_string(track.name);
  one.unit = json_string(track.unit);
  if (track.parent && track.parent->value != one.root) {
    one.path = tracks_[track.parent->value].path + ": ";
  }
  one.path += track.parent ? track.name : "";
  tracks_.resize(track.id.value + size_t{1});
  tracks_[track.id.value] = one;

  std::string name = track.parent ? one.path : track.name;
  name += track.pid && !track.parent ? fmt::format(" {}", *track.pid) : "";
  name += track.lane == 0 ? "" : fmt::format(" ({})", track.lane + 1);
  const char* what = track.parent ? "thread" : "process";
  for (const bool sort : {false, true}) {
    open('M', track.id);
    event_ += fmt::format(",\"name\":\"{}_{}\",\"args\":{{", what, sort ? "sort_index" : "name");
    event_ += sort ? fmt::format("\"sort_index\":{}", track.id.value) : "\"name\":" + json_string(name);
    event_ += '}';
    close();
  }
}

void ChromeWriter::add_arguments(std::span<const TimelineArgument> arguments) {
  const char* before = ",\"args\":{";
  for (const TimelineArgument& argument : arguments) {
    fmt::format_to(std::back_inserter(event_), "{}\"{}\":", before, argument.name);
    before = ",";
    if (const auto* number = std::get_if<int64_t>(&argument.value)) {
      fmt::format_to(std::back_inserter(event_), "{}", *number);
    } else if (const auto* natural = std::get_if<uint64_t>(&argument.value)) {
      fmt::format_to(std::back_inserter(event_), "{}", *natural);
    } else if (const auto* real = std::get_if<double>(&argument.value)) {
      fmt::format_to(std::back_inserter(event_), "{}", *real);
    } else {
      event_ += json_of(*std::get<const TimelineName*>(argument.value));
    }
  }
  event_ += arguments.empty() ? "" : "}";
}

void ChromeWriter::on(const TimelineSlice& slice) {
  const bool pair = tracks_[slice.track.value].in_pairs;
  open(pair ? 'B' : 'X', slice.track);
  add_time("ts", slice.start_ns - base_ns_);
  if (!pair) {
    add_time("dur", slice.end_ns - slice.start_ns);
  }
  event_ += ",\"name\":";
  event_ += json_of(*slice.name);
  event_ += ",\"cat\":";
  event_ += json_string(slice.category);
  add_arguments(slice.arguments);
  close();
  if (pair) {
    open('E', slice.track);
    add_time("ts", slice.end_ns - base_ns_);
    close();
  }
  for (const uint64_t flow : slice.starts_flows) {
    add_flow('s', slice.track, slice.start_ns, flow);
  }
  if (slice.ends_flow) {
    add_flow('f', slice.track, slice.start_ns, *slice.ends_flow);
  }
}

void ChromeWriter::add_flow(char phase, TrackId track, int64_t time_ns, uint64_t id) {
  open(phase, track);
  add_time("ts", time_ns - base_ns_);
  fmt::format_to(std::back_inserter(event_), ",\"name\":\"launch\",\"cat\":\"launch\",\"id\":{}", id);
  event_ += phase == 'f' ? ",\"bp\":\"e\"" : "";
  close();
}

void ChromeWriter::on(const TimelineCounter& counter) {
  const Track& track = tracks_[counter.track.value];
  open('C', counter.track);
  add_time("ts", counter.time_ns - base_ns_);
  event_ += ",\"name\":" + track.name + ",\"args\":{" + track.unit + ":" + fmt::format("{}", counter.value) + "}";
  close();
}

void ChromeWriter::finish() { output_.write("\n]}\n"); }

}  // namespace kvet::exporting
