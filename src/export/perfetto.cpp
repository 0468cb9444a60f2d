#include "export/perfetto.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>
#include <string>
#include <unordered_map>

#include "base/safe_text.h"

namespace kvet::exporting {
namespace {

// Perfetto's names, so that they can be looked up.
namespace field {
namespace trace {
constexpr uint32_t packet = 1;
}
namespace trace_packet {
constexpr uint32_t clock_snapshot = 6, timestamp = 8, trusted_packet_sequence_id = 10, track_event = 11,
                   interned_data = 12, sequence_flags = 13, trace_packet_defaults = 59, track_descriptor = 60,
                   first_packet_on_sequence = 87;
}
namespace trace_packet_defaults {
constexpr uint32_t timestamp_clock_id = 58;
}
namespace clock_snapshot {
constexpr uint32_t clocks = 1, primary_trace_clock = 2;
}
namespace clock {
constexpr uint32_t clock_id = 1, timestamp = 2;
}
namespace track_descriptor {
constexpr uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent_uuid = 5, counter = 8, child_ordering = 11,
                   sibling_order_rank = 12;
}
namespace process_descriptor {
constexpr uint32_t pid = 1, process_name = 6;
}
namespace thread_descriptor {
constexpr uint32_t pid = 1, tid = 2;
}
namespace counter_descriptor {
constexpr uint32_t unit_name = 6;
}
namespace track_event {
constexpr uint32_t category_iids = 3, debug_annotations = 4, type = 9, name_iid = 10, track_uuid = 11,
                   double_counter_value = 44, flow_ids = 47, terminating_flow_ids = 48;
}
namespace debug_annotation {
constexpr uint32_t name_iid = 1, uint_value = 3, int_value = 4, double_value = 5, string_value_iid = 17;
}
namespace interned_data {
constexpr uint32_t event_categories = 1, event_names = 2, debug_annotation_names = 3,
                   debug_annotation_string_values = 29;
}
namespace interned {
constexpr uint32_t iid = 1, text = 2;
}
}  // namespace field

constexpr uint32_t clock_realtime = 1, clock_monotonic = 3;              // BuiltinClock
constexpr int32_t slice_begin = 1, slice_end = 2, counter_value = 4;     // TrackEvent.Type
constexpr uint32_t state_cleared = 1, needs_state = 2;                   // SequenceFlags
constexpr int32_t explicit_order = 3;                                    // ChildTracksOrdering
constexpr uint32_t sequence = 1;

// Whole: a character is spelled out with eight at most.
std::string harmless(std::string_view text) { return safe_text(text, 8 * text.size() + 1); }

}  // namespace

class PerfettoWriter::Packets {
 public:
  explicit Packets(OutputFile& output) : output_(output) {}

  // One TracePacket: fill(writer) adds what is its own.
  template <class Fill>
  void packet(uint32_t flags, Fill fill) {
    packet_.clear();
    interned_.clear();
    protozero::pbf_writer writer(packet_);
    fill(writer);
    if (!interned_.empty()) {
      writer.add_message(field::trace_packet::interned_data, interned_);
    }
    writer.add_uint32(field::trace_packet::trusted_packet_sequence_id, sequence);
    writer.add_uint32(field::trace_packet::sequence_flags, flags);
    framed_.clear();
    protozero::pbf_writer(framed_).add_message(field::trace::packet, packet_);
    output_.write(framed_);
  }

  // A time of the capture as one of the trace.
  [[nodiscard]] uint64_t time(int64_t ns) const { return static_cast<uint64_t>(ns - base_ns_); }
  static uint64_t uuid(TrackId id) { return uint64_t{id.value} + 1; }  // 0 is Perfetto's default track

  template <class Fill>
  void event(int64_t time_ns, int32_t type, TrackId track, Fill fill) {
    packet(needs_state, [&](protozero::pbf_writer& writer) {
      writer.add_uint64(field::trace_packet::timestamp, time(time_ns));
      protozero::pbf_writer event(writer, field::trace_packet::track_event);
      event.add_enum(field::track_event::type, type);
      event.add_uint64(field::track_event::track_uuid, uuid(track));
      fill(event);
    });
  }

  void set_base(int64_t base_ns) { base_ns_ = base_ns; }

  uint64_t event_name(const TimelineName& name) { return by_id(event_names_, field::interned_data::event_names, name); }
  uint64_t text(const TimelineName& name) {
    return by_id(texts_, field::interned_data::debug_annotation_string_values, name);
  }
  uint64_t category(const char* literal) {
    return by_literal(categories_, field::interned_data::event_categories, literal);
  }
  uint64_t argument(const char* literal) {
    return by_literal(arguments_, field::interned_data::debug_annotation_names, literal);
  }

 private:
  uint64_t by_id(std::vector<bool>& known, uint32_t table, const TimelineName& name) {
    const uint64_t iid = uint64_t{name.id.value} + 1;  // 0 means: not set
    if (iid >= known.size()) {
      known.resize(std::max<size_t>(iid + 1, 2 * known.size()));
    }
    if (!known[iid]) {
      known[iid] = true;
      intern(table, iid, name.text);
    }
    return iid;
  }
  uint64_t by_literal(std::unordered_map<std::string_view, uint64_t>& known, uint32_t table, const char* literal) {
    const auto [entry, is_new] = known.try_emplace(literal, known.size() + 1);
    if (is_new) {
      intern(table, entry->second, literal);
    }
    return entry->second;
  }
  void intern(uint32_t table, uint64_t iid, std::string_view text) {
    protozero::pbf_writer all(interned_);
    protozero::pbf_writer one(all, table);
    one.add_uint64(field::interned::iid, iid);
    one.add_string(field::interned::text, harmless(text));
  }

  OutputFile& output_;
  int64_t base_ns_ = 0;
  std::string packet_, interned_, framed_;
  std::vector<bool> event_names_, texts_;
  std::unordered_map<std::string_view, uint64_t> categories_, arguments_;
};

PerfettoWriter::PerfettoWriter(OutputFile& output) : packets_(std::make_unique<Packets>(output)) {}
PerfettoWriter::~PerfettoWriter() = default;

void PerfettoWriter::begin(const TimelineClock& clock, const std::vector<std::pair<std::string, std::string>>&) {
  const bool absolute = clock.realtime && clock.monotonic && clock.first_ns >= 0 && clock.realtime->monotonic_ns >= 0 &&
                        clock.realtime->realtime_ns >= 0;
  packets_->set_base(std::min<int64_t>(0, clock.first_ns));
  packets_->packet(state_cleared, [&](protozero::pbf_writer& writer) {
    writer.add_bool(field::trace_packet::first_packet_on_sequence, true);
    if (!absolute) {
      return;
    }
    {
      protozero::pbf_writer defaults(writer, field::trace_packet::trace_packet_defaults);
      defaults.add_uint32(field::trace_packet_defaults::timestamp_clock_id, clock_monotonic);
    }
    protozero::pbf_writer snapshot(writer, field::trace_packet::clock_snapshot);
    auto add = [&](uint32_t id, int64_t ns) {
      protozero::pbf_writer one(snapshot, field::clock_snapshot::clocks);
      one.add_uint32(field::clock::clock_id, id);
      one.add_uint64(field::clock::timestamp, static_cast<uint64_t>(ns));
    };
    add(clock_monotonic, clock.realtime->monotonic_ns);
    add(clock_realtime, clock.realtime->realtime_ns);
    snapshot.add_enum(field::clock_snapshot::primary_trace_clock, static_cast<int32_t>(clock_monotonic));
  });
}

void PerfettoWriter::on(const TimelineTrack& track) {
  packets_->packet(needs_state, [&](protozero::pbf_writer& writer) {
    protozero::pbf_writer descriptor(writer, field::trace_packet::track_descriptor);
    descriptor.add_uint64(field::track_descriptor::uuid, Packets::uuid(track.id));
    if (track.parent) {
      descriptor.add_uint64(field::track_descriptor::parent_uuid, Packets::uuid(*track.parent));
    }
    descriptor.add_string(field::track_descriptor::name, harmless(track.name));
    descriptor.add_enum(field::track_descriptor::child_ordering, explicit_order);
    descriptor.add_int32(field::track_descriptor::sibling_order_rank, static_cast<int32_t>(track.id.value));
    if (track.kind == TrackKind::process && track.pid) {
      protozero::pbf_writer process(descriptor, field::track_descriptor::process);
      process.add_int32(field::process_descriptor::pid, *track.pid);
      process.add_string(field::process_descriptor::process_name, harmless(track.name));
    }
    if (track.kind == TrackKind::thread && track.pid && track.thread_id) {
      protozero::pbf_writer thread(descriptor, field::track_descriptor::thread);
      thread.add_int32(field::thread_descriptor::pid, *track.pid);
      thread.add_int64(field::thread_descriptor::tid, *track.thread_id);
    }
    if (track.kind == TrackKind::counter || track.kind == TrackKind::kernel_counter) {
      protozero::pbf_writer counter(descriptor, field::track_descriptor::counter);
      counter.add_string(field::counter_descriptor::unit_name, track.unit);
    }
  });
}

void PerfettoWriter::on(const TimelineSlice& slice) {
  packets_->event(slice.start_ns, slice_begin, slice.track, [&](protozero::pbf_writer& event) {
    event.add_uint64(field::track_event::category_iids, packets_->category(slice.category));
    event.add_uint64(field::track_event::name_iid, packets_->event_name(*slice.name));
    for (const TimelineArgument& argument : slice.arguments) {
      protozero::pbf_writer annotation(event, field::track_event::debug_annotations);
      annotation.add_uint64(field::debug_annotation::name_iid, packets_->argument(argument.name));
      if (const auto* number = std::get_if<int64_t>(&argument.value)) {
        annotation.add_int64(field::debug_annotation::int_value, *number);
      } else if (const auto* natural = std::get_if<uint64_t>(&argument.value)) {
        annotation.add_uint64(field::debug_annotation::uint_value, *natural);
      } else if (const auto* real = std::get_if<double>(&argument.value)) {
        annotation.add_double(field::debug_annotation::double_value, *real);
      } else {
        annotation.add_uint64(field::debug_annotation::string_value_iid,
                              packets_->text(*std::get<const TimelineName*>(argument.value)));
      }
    }
    for (const uint64_t flow : slice.starts_flows) {
      event.add_fixed64(field::track_event::flow_ids, flow);
    }
    if (slice.ends_flow) {
      event.add_fixed64(field::track_event::terminating_flow_ids, *slice.ends_flow);
    }
  });
  packets_->event(slice.end_ns, slice_end, slice.track, [](protozero::pbf_writer&) {});
}

void PerfettoWriter::on(const TimelineCounter& counter) {
  packets_->event(counter.time_ns, counter_value, counter.track, [&](protozero::pbf_writer& event) {
    event.add_double(field::track_event::double_counter_value, counter.value);
  });
}

}  // namespace kvet::exporting
