#include "record/window_sink.h"

namespace kvet::record {

namespace {

bool is_launch(ApiKind kind) {
  switch (kind) {
    case ApiKind::launch_kernel:
    case ApiKind::launch_cooperative:
    case ApiKind::launch_graph:
    case ApiKind::launch_host_function: return true;
    case ApiKind::synchronize_stream:
    case ApiKind::synchronize_context:
    case ApiKind::synchronize_event:
    case ApiKind::synchronize_copy:
    case ApiKind::copy_async:
    case ApiKind::wait_for_queue: return false;
  }
  return false;
}

}  // namespace

void WindowSink::on(const ApiCall& call) {
  if (pass(call) && is_launch(call.kind)) {
    ++counts_.launches;
  }
}

void WindowSink::on(const Execution& execution) { counts_.executions += pass(execution) ? 1 : 0; }
void WindowSink::on(const OffCpu& off_cpu) { counts_.off_cpu += pass(off_cpu) ? 1 : 0; }
void WindowSink::on(const CollectiveCall& call) { counts_.collective_calls += pass(call) ? 1 : 0; }

void WindowSink::on(const Sample& sample) {
  // Samples have a clock of their own, known to a few hundred microseconds until it is aligned at the end: some more of
  // them are kept on either side, and all where nothing is known.
  constexpr int64_t margin_ns = 10'000'000;
  if (const auto offset = counter_offsets_.find(sample.device);
      offset != counter_offsets_.end() && (sample.end_ns + offset->second < from_ns_ - margin_ns ||
                                           sample.start_ns + offset->second - margin_ns >= to_ns_)) {
    return;
  }
  next_->on(sample);
  ++counts_.samples;
}

void WindowSink::on(const ClockMapping& mapping) {
  if (mapping.source == ClockSource::counters && mapping.device) {
    counter_offsets_[*mapping.device] = mapping.offset_ns;
  }
  next_->on(mapping);
}

void WindowSink::on(const DeviceReading& reading) {
  if (reading.time_ns >= from_ns_ && reading.time_ns < to_ns_) {
    next_->on(reading);
  }
}

void WindowSink::on(const Loss& loss) {
  next_->on(loss);
  counts_.losses += loss.count;
  losses_[{loss.source, loss.kind}] += loss.count;
}

}  // namespace kvet::record
