#include "probes/activity/decode.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "probes/activity/captured.h"
#include "probes/activity/entries.h"

namespace kvet::probes {
namespace {

constexpr uint64_t latest_time = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

bool plausible(uint64_t start_ns, uint64_t end_ns) {
  return start_ns != 0 && start_ns <= end_ns && end_ns <= latest_time;
}

int64_t signed_time(uint64_t time_ns) { return static_cast<int64_t>(time_ns); }

std::optional<ApiKind> api_kind(uint16_t api) {
  switch (api) {
    case KVET_API_LAUNCH_KERNEL: return ApiKind::launch_kernel;
    case KVET_API_LAUNCH_COOPERATIVE: return ApiKind::launch_cooperative;
    case KVET_API_LAUNCH_GRAPH: return ApiKind::launch_graph;
    case KVET_API_LAUNCH_HOST_FUNCTION: return ApiKind::launch_host_function;
    case KVET_API_SYNCHRONIZE_STREAM: return ApiKind::synchronize_stream;
    case KVET_API_SYNCHRONIZE_CONTEXT: return ApiKind::synchronize_context;
    case KVET_API_SYNCHRONIZE_EVENT: return ApiKind::synchronize_event;
    case KVET_API_SYNCHRONIZE_COPY: return ApiKind::synchronize_copy;
    case KVET_API_COPY_ASYNC: return ApiKind::copy_async;
    case KVET_API_WAIT_FOR_QUEUE: return ApiKind::wait_for_queue;
    default: return std::nullopt;
  }
}

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

std::optional<TransferKind> transfer_kind(uint16_t transfer) {
  switch (transfer) {
    case KVET_TRANSFER_HOST_TO_DEVICE: return TransferKind::host_to_device;
    case KVET_TRANSFER_DEVICE_TO_HOST: return TransferKind::device_to_host;
    case KVET_TRANSFER_DEVICE_TO_DEVICE: return TransferKind::device_to_device;
    case KVET_TRANSFER_PEER: return TransferKind::peer;
    case KVET_TRANSFER_MEMSET: return TransferKind::memset;
    case KVET_TRANSFER_OTHER: return TransferKind::other;
    default: return std::nullopt;
  }
}

std::optional<std::pair<Source, LossKind>> loss_kind(uint16_t loss) {
  switch (loss) {
    case KVET_LOSS_CUPTI_DROPPED: return std::pair{Source::cupti, LossKind::cupti_dropped};
    case KVET_LOSS_BAD_TIME: return std::pair{Source::cupti, LossKind::bad_time};
    case KVET_LOSS_BATCH_SLOT: return std::pair{Source::usdt, LossKind::batch_slot};
    case KVET_LOSS_TABLE_FULL: return std::pair{Source::usdt, LossKind::table_full};
    case KVET_LOSS_NO_READER: return std::pair{Source::usdt, LossKind::no_reader};
    case KVET_LOSS_UNKNOWN_RECORD: return std::pair{Source::cupti, LossKind::unknown_record};
    case KVET_LOSS_BUFFER_ALLOCATION: return std::pair{Source::cupti, LossKind::buffer_allocation};
    default: return std::nullopt;
  }
}

// Everything known about one process.
struct ProcessState {
  ProcessId id;
  Table table;
  bool table_was_asked_for = false;
  TableEntries entries;
  CapturedLaunches launches;
  uint64_t next_sequence = 0;
  uint64_t records = 0;  // that came, or are known to be lost
  std::vector<TableEntries::SeenContext> contexts;  // not handed on yet
  std::vector<kvet_record_execution> homeless;  // their device is not known yet
  std::vector<kvet_record_transfer> homeless_transfers;
  std::optional<ShapeId> nameless;
  bool finished = false;
  bool end_was_told = false;
  uint64_t rejections_told = 0;
  std::optional<Result<kvet_table>> last_header;  // once the table is closed
  ActivityDecoder::Totals totals;
};
// Executions kept until their device is known: its record comes with the first buffers. 64 MiB at most.
constexpr size_t homeless_limit = 1u << 20;

}  // namespace

class ActivityDecoder::Implementation {
 public:
  Implementation(EventSink& sink, DeviceDirectory& devices, Callbacks callbacks)
      : sink_(sink), devices_(devices), callbacks_(std::move(callbacks)) {}

  ProcessState& state(ProcessId process) {
    ProcessState& found = states_[process];
    found.id = process;
    return found;
  }
  const ProcessState* find(ProcessId process) const {
    const auto found = states_.find(process);
    return found == states_.end() ? nullptr : &found->second;
  }
  std::map<ProcessId, ProcessState>& states() { return states_; }

  void decode(ProcessState& process, const kvet_batch_header& header, std::span<const kvet_record> records);
  struct End {
    bool certain = false;  // it has ended, or runs another program
    std::optional<int64_t> time_ns;
  };
  void finish(ProcessState& process, End end);
  void lose(const ProcessState& process, Source source, LossKind kind, uint64_t count,
            std::optional<int64_t> first_ns = {}, std::optional<int64_t> last_ns = {}) {
    if (count > 0) {
      sink_.on(Loss{source, kind, process.id, std::min(count, latest_time), first_ns, last_ns});
    }
  }
  // The process runs another program now, with a library that counts from zero.
  void restart(ProcessState& process) {
    finish(process, {.certain = true, .time_ns = {}});
    const Totals totals = process.totals;
    const ProcessId id = process.id;
    process = ProcessState{};
    process.id = id;
    process.totals = totals;
    process.totals.rejected_records = 0;  // finish() has reported them
    process.totals.said_goodbye = false;
  }

 private:
  void tell_end(ProcessState& process, const kvet_table& header, End end);
  void read_table(ProcessState& process, uint64_t used);
  void record(ProcessState& process, const kvet_record& record);
  bool execution(ProcessState& process, const kvet_record_execution& record);
  bool api_call(ProcessState& process, const kvet_record_api_call& record);
  bool transfer(ProcessState& process, const kvet_record_transfer& record);
  bool range(ProcessState& process, const kvet_record_range& record);
  bool loss(ProcessState& process, const kvet_record_loss& record);
  void emit_execution(ProcessState& process, const kvet_record_execution& record, DeviceId device);
  void emit_transfer(ProcessState& process, const kvet_record_transfer& record, DeviceId device);
  void house_the_homeless(ProcessState& process, bool at_end);
  DeviceId unknown_device();
  int32_t thread(ProcessState& process, uint32_t id) {
    const auto seen = static_cast<int32_t>(id & 0x7fffffffu);
    return callbacks_.translate_thread ? callbacks_.translate_thread(process.id, seen) : seen;
  }
  CapturedLaunches::Emit emit_launch(ProcessState& process) {
    return [this, &process](const ApiCall& call) {
      process.totals.captured_launches += call.captured ? 1 : 0;
      sink_.on(call);
    };
  }

  EventSink& sink_;
  DeviceDirectory& devices_;
  Callbacks callbacks_;
  ShapeDirectory shapes_;
  std::map<ProcessId, ProcessState> states_;
};

void ActivityDecoder::Implementation::decode(ProcessState& process, const kvet_batch_header& header,
                                             std::span<const kvet_record> records) {
  if (header.abi_version != KVET_ABI_VERSION || header.count > records.size()) {
    // Another library's batch, or none at all. How much it held is not to be trusted; that it is lost is certain.
    lose(process, Source::usdt, LossKind::unknown_record, std::max<uint64_t>(records.size(), 1));
    return;
  }
  if (header.sequence == 0 && process.next_sequence > 0) {
    restart(process);
  }
  process.finished = false;  // a batch that came late is finished later
  if (header.sequence > process.next_sequence && header.records_before >= process.records) {
    lose(process, Source::usdt, LossKind::batch_gap, header.records_before - process.records);
  }
  if (header.sequence >= process.next_sequence) {
    process.next_sequence = header.sequence + 1;
    process.records = header.records_before + header.count;
  }
  process.totals.batches += 1;
  process.totals.records += header.count;
  process.totals.said_goodbye |= header.last == 1;
  read_table(process, header.table_used);
  for (const kvet_record& one : records.first(header.count)) {
    record(process, one);
  }
}

void ActivityDecoder::Implementation::read_table(ProcessState& process, uint64_t used) {
  if (!process.table.valid() && !process.table_was_asked_for && callbacks_.open_table) {
    process.table_was_asked_for = true;
    if (auto table = callbacks_.open_table(process.id)) {
      process.table = std::move(*table);
    }
  }
  if (!process.table.valid() || process.entries.malformed()) {
    return;
  }
  if (!process.entries.read(sink_, devices_, shapes_, process.table, used)) {
    lose(process, Source::usdt, LossKind::table_full, 1);  // the rest of the names
  }
  std::ranges::move(process.entries.take_contexts(), std::back_inserter(process.contexts));
  house_the_homeless(process, false);
}

void ActivityDecoder::Implementation::record(ProcessState& process, const kvet_record& one) {
  bool accepted = false;
  switch (one.kind) {
    case KVET_RECORD_EXECUTION: accepted = execution(process, one.execution); break;
    case KVET_RECORD_API_CALL: accepted = api_call(process, one.api_call); break;
    case KVET_RECORD_TRANSFER: accepted = transfer(process, one.transfer); break;
    case KVET_RECORD_RANGE: accepted = range(process, one.range); break;
    case KVET_RECORD_LOSS: accepted = loss(process, one.loss); break;
    default: break;
  }
  if (!accepted) {
    process.totals.rejected_records += 1;
  }
}

bool ActivityDecoder::Implementation::execution(ProcessState& process, const kvet_record_execution& record) {
  if (!plausible(record.start_ns, record.end_ns)) {
    return false;
  }
  process.totals.executions += 1;
  process.launches.executed(record.correlation_id, emit_launch(process));
  if (const auto device = process.entries.device(record.device)) {
    emit_execution(process, record, *device);
  } else if (process.homeless.size() < homeless_limit) {
    process.homeless.push_back(record);
  } else {
    emit_execution(process, record, unknown_device());
  }
  return true;
}

void ActivityDecoder::Implementation::emit_execution(ProcessState& process, const kvet_record_execution& record,
                                                     DeviceId device) {
  auto shape = process.entries.shape(record.shape);
  if (!shape) {
    if (!process.nameless) {
      KernelShape unknown;
      unknown.name = sink_.intern("(name not recorded)");
      process.nameless = shapes_.add(sink_, unknown);
    }
    shape = process.nameless;
  }
  sink_.on(Execution{.process = process.id,
                     .device = device,
                     .shape = *shape,
                     .context_id = record.context_id,
                     .stream_id = record.stream_id,
                     .correlation_id = record.correlation_id,
                     .graph_id = record.graph_id,
                     .graph_node_id = record.graph_node_id,
                     .start_ns = signed_time(record.start_ns),
                     .end_ns = signed_time(record.end_ns)});
}

bool ActivityDecoder::Implementation::api_call(ProcessState& process, const kvet_record_api_call& record) {
  if (!plausible(record.start_ns, record.end_ns)) {
    return false;
  }
  constexpr int32_t illegal_state = 401;  // CUDA_ERROR_ILLEGAL_STATE: there was no capture to end
  if (record.api == KVET_API_CAPTURE_BEGIN) {
    if (record.result == 0) {
      process.launches.capture_began(signed_time(record.start_ns));
    }
    return true;
  }
  if (record.api == KVET_API_CAPTURE_END) {
    if (record.result != illegal_state) {
      process.launches.capture_ended(signed_time(record.end_ns));
    }
    return true;
  }
  const auto kind = api_kind(record.api);
  if (!kind) {
    return false;
  }
  const ApiCall call{.process = process.id,
                     .thread_id = record.thread_id == 0 ? 0 : thread(process, record.thread_id),
                     .kind = *kind,
                     .source = Source::cupti,
                     .correlation_id = record.correlation_id,
                     .start_ns = signed_time(record.start_ns),
                     .end_ns = signed_time(record.end_ns),
                     .result = record.result};
  process.totals.api_calls += 1;
  if (is_launch(*kind)) {
    process.totals.launches += 1;
    process.launches.launched(call, emit_launch(process));
  } else {
    sink_.on(call);
  }
  return true;
}

bool ActivityDecoder::Implementation::transfer(ProcessState& process, const kvet_record_transfer& record) {
  if (!plausible(record.start_ns, record.end_ns) || !transfer_kind(record.transfer)) {
    return false;
  }
  process.totals.transfers += 1;
  if (const auto device = process.entries.device(record.device)) {
    emit_transfer(process, record, *device);
  } else if (process.homeless_transfers.size() < homeless_limit) {
    process.homeless_transfers.push_back(record);
  } else {
    emit_transfer(process, record, unknown_device());
  }
  return true;
}

void ActivityDecoder::Implementation::emit_transfer(ProcessState& process, const kvet_record_transfer& record,
                                                    DeviceId device) {
  sink_.on(Transfer{.process = process.id,
                    .device = device,
                    .kind = transfer_kind(record.transfer).value_or(TransferKind::other),
                    .context_id = record.context_id,
                    .stream_id = record.stream_id,
                    .correlation_id = record.correlation_id,
                    .graph_id = record.graph_id,
                    .graph_node_id = record.graph_node_id,
                    .bytes = record.bytes,
                    .start_ns = signed_time(record.start_ns),
                    .end_ns = signed_time(record.end_ns)});
}

bool ActivityDecoder::Implementation::range(ProcessState& process, const kvet_record_range& record) {
  const auto name = process.entries.string(record.name);
  if (!plausible(record.start_ns, record.end_ns)) {
    return false;
  }
  process.totals.ranges += 1;
  sink_.on(Range{.process = process.id,
                 .thread_id = record.thread_id == 0 ? 0 : thread(process, record.thread_id),
                 .name = name ? *name : sink_.intern("(name not recorded)"),
                 .domain = process.entries.string(record.domain).value_or(StringId{}),
                 .start_ns = signed_time(record.start_ns),
                 .end_ns = signed_time(record.end_ns)});
  return true;
}

bool ActivityDecoder::Implementation::loss(ProcessState& process, const kvet_record_loss& record) {
  const auto kind = loss_kind(record.loss);
  if (!kind || record.count == 0 || record.count > latest_time) {
    return false;
  }
  const auto time = [](uint64_t time_ns) {
    return time_ns == 0 || time_ns > latest_time ? std::nullopt : std::optional{signed_time(time_ns)};
  };
  lose(process, kind->first, kind->second, record.count, time(record.first_ns), time(record.last_ns));
  return true;
}

void ActivityDecoder::Implementation::house_the_homeless(ProcessState& process, bool at_end) {
  const auto settle = [&](auto& records, auto emit) {
    std::erase_if(records, [&](const auto& one) {
      auto device = process.entries.device(one.device);
      if (!device && at_end) {
        device = unknown_device();
      }
      if (device) {
        emit(one, *device);
      }
      return device.has_value();
    });
  };
  std::erase_if(process.contexts, [&](TableEntries::SeenContext& seen) {
    const auto device = process.entries.device(seen.device_ordinal);
    if (device) {
      seen.context.process = process.id;
      seen.context.device = *device;
      sink_.on(seen.context);
    }
    return device || at_end;  // a context on a device that never was is of no use to anybody
  });
  settle(process.homeless, [&](const auto& one, DeviceId device) { emit_execution(process, one, device); });
  settle(process.homeless_transfers, [&](const auto& one, DeviceId device) { emit_transfer(process, one, device); });
}

// A GPU of which nothing is known, not even its UUID.
DeviceId ActivityDecoder::Implementation::unknown_device() {
  Device unknown;
  unknown.name = sink_.intern("(unknown GPU)");
  return devices_.add(sink_, unknown);
}

// The library says goodbye at exit. Where it did not, CUPTI held records that nobody will see.
void ActivityDecoder::Implementation::tell_end(ProcessState& process, const kvet_table& header, End end) {
  const auto since = header.flushed_ns == 0 || header.flushed_ns > latest_time
                         ? std::nullopt
                         : std::optional{signed_time(header.flushed_ns)};
  const bool recorded = header.status == KVET_INJECT_RECORDING || header.status == KVET_INJECT_NO_PROBE;
  if (process.end_was_told) {
    return;
  }
  if (header.status == KVET_INJECT_READER_GONE) {
    process.end_was_told = true;
    lose(process, Source::usdt, LossKind::no_reader, 1, since);
  } else if (end.certain && recorded && header.finished == 0) {
    process.end_was_told = true;
    // A target's clock may be anything; ours is not.
    const bool in_order = since && (!end.time_ns || *since <= *end.time_ns);
    lose(process, Source::cupti, LossKind::ended_without_exit_handlers, 1, in_order ? since : std::nullopt,
         end.time_ns);
  }
}

void ActivityDecoder::Implementation::finish(ProcessState& process, End end) {
  if (std::exchange(process.finished, true)) {
    return;
  }
  // The header says how much was handed over in all: the tail that a full ring lost shows in no sequence number.
  if (process.table.valid()) {
    if (auto header = process.table.header()) {
      read_table(process, header->used);
      if (header->batches_sent > process.next_sequence && header->records_sent > process.records) {
        lose(process, Source::usdt, LossKind::batch_gap, header->records_sent - process.records);
        process.next_sequence = header->batches_sent;
        process.records = header->records_sent;
      }
      tell_end(process, *header, end);
    }
  }
  house_the_homeless(process, true);
  process.launches.finish(emit_launch(process));
  lose(process, Source::usdt, LossKind::unknown_record,
       process.totals.rejected_records - std::exchange(process.rejections_told, process.totals.rejected_records));
  // Processes come and go in a long recording: of one that is over, only its counts and what its table said stay.
  process.entries = {};
  process.launches = {};
  process.homeless = {};
  process.homeless_transfers = {};
  process.nameless.reset();
  if (end.certain && process.table.valid()) {
    process.last_header = process.table.header();
    process.table = Table{};
  }
}

ActivityDecoder::ActivityDecoder(EventSink& sink, DeviceDirectory& devices, Callbacks callbacks)
    : implementation_(std::make_unique<Implementation>(sink, devices, std::move(callbacks))) {}
ActivityDecoder::~ActivityDecoder() = default;

void ActivityDecoder::set_table(ProcessId process, Table table) {
  ProcessState& state = implementation_->state(process);
  if (state.table.valid() && table.valid()) {
    if (state.table.same_as(table)) {
      return;
    }
    implementation_->restart(state);
  }
  state.table = std::move(table);
}

void ActivityDecoder::decode(ProcessId process, const kvet_batch_header& header, std::span<const kvet_record> records) {
  implementation_->decode(implementation_->state(process), header, records);
}

void ActivityDecoder::decode_event(ProcessId process, std::span<const std::byte> event) {
  ProcessState& state = implementation_->state(process);
  kvet_event_batch head;
  if (event.size() < sizeof(head)) {
    implementation_->lose(state, Source::usdt, LossKind::unknown_record, 1);
    return;
  }
  memcpy(&head, event.data(), sizeof(head));
  const size_t room = (event.size() - sizeof(head)) / sizeof(kvet_record);
  // The ring buffer aligns events to 8 bytes, and so are records.
  const auto* records = reinterpret_cast<const kvet_record*>(event.data() + sizeof(head));
  implementation_->decode(state, head.batch, {records, room});
}

void ActivityDecoder::finish(ProcessId process, std::optional<int64_t> ended_ns) {
  implementation_->finish(implementation_->state(process), {.certain = ended_ns.has_value(), .time_ns = ended_ns});
}

void ActivityDecoder::finish_all() {
  for (auto& [id, state] : implementation_->states()) {
    implementation_->finish(state, {});
  }
}

ActivityDecoder::Totals ActivityDecoder::totals(ProcessId process) const {
  const ProcessState* state = implementation_->find(process);
  return state == nullptr ? Totals{} : state->totals;
}

ActivityDecoder::Totals ActivityDecoder::totals() const {
  Totals sum;
  sum.said_goodbye = true;
  for (const auto& [id, state] : implementation_->states()) {
    const Totals& one = state.totals;
    sum.batches += one.batches;
    sum.records += one.records;
    sum.executions += one.executions;
    sum.api_calls += one.api_calls;
    sum.launches += one.launches;
    sum.captured_launches += one.captured_launches;
    sum.transfers += one.transfers;
    sum.ranges += one.ranges;
    sum.rejected_records += one.rejected_records;
    sum.said_goodbye &= one.said_goodbye;
  }
  return sum;
}

Result<kvet_table> ActivityDecoder::header(ProcessId process) const {
  const ProcessState* state = implementation_->find(process);
  if (state != nullptr && state->table.valid()) {
    return state->table.header();
  }
  if (state != nullptr && state->last_header) {
    return *state->last_header;
  }
  return fail(ErrorKind::unavailable, "the process has no table of kernel names");
}

}  // namespace kvet::probes
