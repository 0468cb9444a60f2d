#include "probes/activity/decode.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "probes/activity/test_sink.h"

namespace kvet::probes {
namespace {

// A table in a memfd, written byte by byte as a target would, right or wrong.
class PlantedTable {
 public:
  PlantedTable() : file_(memfd_create("planted-table", 0)) {
    header_.magic = KVET_TABLE_MAGIC;
    header_.abi_version = KVET_ABI_VERSION;
    header_.generation = 1;
    EXPECT_EQ(ftruncate(file_.get(), KVET_TABLE_BYTES), 0);
    write_header();
  }
  uint32_t string(const std::string& text) {
    kvet_entry_string entry{};
    entry.length = static_cast<uint32_t>(text.size());
    std::string bytes(reinterpret_cast<const char*>(&entry), sizeof(entry));
    bytes += text;
    return append(KVET_ENTRY_STRING, bytes);
  }
  uint32_t shape(uint32_t name, uint32_t grid_x, uint32_t block_x) {
    kvet_entry_shape entry{};
    entry.name = name;
    entry.grid[0] = grid_x;
    entry.grid[1] = entry.grid[2] = 1;
    entry.block[0] = block_x;
    entry.block[1] = entry.block[2] = 1;
    entry.registers_per_thread = 40;
    entry.dynamic_shared_bytes = 1024;
    entry.code_hash = 0xc0de;
    return append(KVET_ENTRY_SHAPE, std::string(reinterpret_cast<const char*>(&entry), sizeof(entry)));
  }
  uint32_t device(uint32_t ordinal, uint8_t uuid_byte) {
    kvet_entry_device entry{};
    entry.ordinal = ordinal;
    memset(entry.uuid, uuid_byte, sizeof(entry.uuid));
    entry.multiprocessors = 132;
    entry.memory_bandwidth_kb_per_s = 4'800'000'000;
    return append(KVET_ENTRY_DEVICE, std::string(reinterpret_cast<const char*>(&entry), sizeof(entry)));
  }
  uint32_t context(const kvet_entry_context& entry) {
    return append(KVET_ENTRY_CONTEXT, std::string(reinterpret_cast<const char*>(&entry), sizeof(entry)));
  }
  // An entry whose header is as given, for tables that lie.
  void raw(kvet_entry entry, std::string bytes) {
    memcpy(bytes.data(), &entry, sizeof(entry));
    EXPECT_EQ(pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(sizeof(kvet_table) + header_.used)),
              static_cast<ssize_t>(bytes.size()));
    header_.used += bytes.size();
    write_header();
  }
  void sent(uint64_t batches, uint64_t records) {
    header_.batches_sent = batches;
    header_.records_sent = records;
    write_header();
  }
  void state(kvet_inject_status status, uint64_t flushed_ns, bool finished) {
    header_.status = status;
    header_.flushed_ns = flushed_ns;
    header_.finished = finished ? 1 : 0;
    write_header();
  }
  [[nodiscard]] uint64_t used() const { return header_.used; }
  void set_version(uint32_t version) {
    header_.abi_version = version;
    write_header();
  }
  [[nodiscard]] Result<Table> open() const { return Table::in_memory_file(file_.get(), 0); }
  [[nodiscard]] int file() const { return file_.get(); }

 private:
  uint32_t append(uint16_t kind, std::string bytes) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    kvet_entry entry{};
    entry.kind = kind;
    entry.size = static_cast<uint32_t>(bytes.size());
    entry.index = ++index_;
    raw(entry, bytes);
    return index_;
  }
  void write_header() {
    EXPECT_EQ(pwrite(file_.get(), &header_, sizeof(header_), 0), static_cast<ssize_t>(sizeof(header_)));
  }
  FileDescriptor file_;
  kvet_table header_{};
  uint32_t index_ = 0;
};

kvet_record blank() {
  kvet_record record;
  memset(&record, 0, sizeof(record));
  return record;
}
kvet_record execution(uint32_t correlation, uint32_t shape, uint64_t start, uint64_t end, uint16_t device = 0) {
  kvet_record record = blank();
  record.execution = {.kind = KVET_RECORD_EXECUTION,
                      .device = device,
                      .correlation_id = correlation,
                      .start_ns = start,
                      .end_ns = end,
                      .graph_node_id = 0,
                      .graph_id = 0,
                      .context_id = 1,
                      .stream_id = 7,
                      .shape = shape,
                      .queued_ns = 0,
                      .channel_id = 0,
                      .reserved = 0};
  return record;
}
kvet_record call(kvet_api_kind api, uint32_t correlation, uint64_t start, uint64_t end, uint32_t thread = 100,
                 int32_t result = 0) {
  kvet_record record = blank();
  record.api_call.kind = KVET_RECORD_API_CALL;
  record.api_call.api = static_cast<uint16_t>(api);
  record.api_call.correlation_id = correlation;
  record.api_call.start_ns = start;
  record.api_call.end_ns = end;
  record.api_call.thread_id = thread;
  record.api_call.result = result;
  return record;
}

class DecodeTest : public testing::Test {
 protected:
  // Sends records as the next batch, in order and without a gap unless the test changes `sequence_` or `before_`.
  void send(const std::vector<kvet_record>& records, bool last = false) {
    kvet_batch_header header{};
    header.abi_version = KVET_ABI_VERSION;
    header.count = static_cast<uint32_t>(records.size());
    header.sequence = sequence_++;
    header.records_before = before_;
    before_ += records.size();
    header.capacity = KVET_BATCH_LARGE;
    header.table_used = table_.used();
    header.last = last ? 1 : 0;
    decoder_.decode(process_, header, records);
  }

  TestSink sink_;
  DeviceDirectory devices_;
  ProcessId process_{3};
  PlantedTable table_;
  uint64_t sequence_ = 0, before_ = 0;
  ActivityDecoder decoder_{sink_,
                           devices_,
                           {.translate_thread = [](ProcessId, int32_t thread) { return thread + 50'000; },
                            .open_table = [this](ProcessId) { return table_.open(); }}};
};

TEST_F(DecodeTest, ExecutionHasEveryFieldOfItsRecordAndItsShape) {
  const uint32_t shape = table_.shape(table_.string("_Z4normPf"), 264, 256);
  table_.device(0, 0xab);
  kvet_record record = execution(41, shape, 1000, 2500);
  record.execution.graph_node_id = 77;
  record.execution.graph_id = 5;
  send({record}, true);
  ASSERT_EQ(sink_.executions.size(), 1u);
  const Execution& e = sink_.executions[0];
  EXPECT_EQ(e.process, process_);
  EXPECT_EQ(e.correlation_id, 41u);
  EXPECT_EQ(e.start_ns, 1000);
  EXPECT_EQ(e.end_ns, 2500);
  EXPECT_EQ(e.graph_node_id, 77u);
  EXPECT_EQ(e.graph_id, 5u);
  EXPECT_EQ(e.context_id, 1u);
  EXPECT_EQ(e.stream_id, 7u);
  EXPECT_EQ(sink_.name(e.shape), "_Z4normPf");
  const KernelShape& s = sink_.shapes[e.shape.value];
  EXPECT_EQ(s.grid, (std::array<uint32_t, 3>{264, 1, 1}));
  EXPECT_EQ(s.block, (std::array<uint32_t, 3>{256, 1, 1}));
  EXPECT_EQ(s.registers_per_thread, 40u);
  EXPECT_EQ(s.dynamic_shared_bytes, 1024u);
  EXPECT_EQ(s.code_hash, 0xc0deu);
  ASSERT_EQ(sink_.devices.size(), 1u);
  EXPECT_EQ(sink_.devices[0].memory_bandwidth_bytes_per_s, 4'800'000'000'000u);
  EXPECT_TRUE(decoder_.totals(process_).said_goodbye);
  EXPECT_TRUE(sink_.losses.empty());
}

TEST_F(DecodeTest, AWaitForTheQueueIsNoLaunchAndMayNotKnowItsThread) {
  send({call(KVET_API_WAIT_FOR_QUEUE, 41, 1000, 1600, 100), call(KVET_API_WAIT_FOR_QUEUE, 42, 2000, 2100, 0)}, true);
  ASSERT_EQ(sink_.api_calls.size(), 2u);
  EXPECT_EQ(sink_.api_calls[0].kind, ApiKind::wait_for_queue);
  EXPECT_EQ(sink_.api_calls[0].correlation_id, 41u);
  EXPECT_EQ(sink_.api_calls[0].thread_id, 50'100);
  EXPECT_EQ(sink_.api_calls[0].end_ns, 1600);
  EXPECT_EQ(sink_.api_calls[1].thread_id, 0);
  EXPECT_EQ(decoder_.totals(process_).launches, 0u);
}

TEST_F(DecodeTest, ContextsCarryHowTheyShareTheDevice) {
  kvet_entry_context entry{};
  entry.context_id = 4;
  entry.device_ordinal = 6;
  entry.sharing = KVET_CONTEXT_TIME_SLICED;
  entry.parent_context_id = 1;
  entry.green = 1;
  entry.multiprocessors = 16;
  table_.context(entry);
  entry = {};
  entry.context_id = 1;
  entry.device_ordinal = 6;
  entry.sharing = KVET_CONTEXT_MPS;
  entry.thread_centipercent = 1250;
  table_.context(entry);
  entry.sharing = 77;                     // not one that exists
  entry.thread_centipercent = 4'000'000;  // nor a percentage
  table_.context(entry);
  send({});
  EXPECT_TRUE(sink_.contexts.empty()) << "their device is not known yet";
  table_.device(6, 0xab);
  send({});
  ASSERT_EQ(sink_.contexts.size(), 3u);
  const Context& green = sink_.contexts[0];
  EXPECT_EQ(green.process, process_);
  EXPECT_EQ(green.device, DeviceId{0});
  EXPECT_EQ(green.context_id, 4u);
  EXPECT_EQ(green.sharing, ContextSharing::time_sliced);
  EXPECT_TRUE(green.green);
  EXPECT_EQ(green.parent_context_id, 1u);
  EXPECT_EQ(green.multiprocessors, 16u);
  EXPECT_FALSE(green.mps_thread_percent);
  const Context& client = sink_.contexts[1];
  EXPECT_EQ(client.sharing, ContextSharing::mps);
  EXPECT_FALSE(client.green);
  EXPECT_FALSE(client.multiprocessors);
  EXPECT_EQ(client.mps_thread_percent, 12.5);
  EXPECT_EQ(sink_.contexts[2].sharing, ContextSharing::unknown);
  EXPECT_FALSE(sink_.contexts[2].mps_thread_percent);
}

TEST_F(DecodeTest, ApiCallThreadsAreTranslated) {
  send({call(KVET_API_SYNCHRONIZE_STREAM, 9, 10, 20, 123, 700)});
  ASSERT_EQ(sink_.api_calls.size(), 1u);
  EXPECT_EQ(sink_.api_calls[0].thread_id, 50'123);
  EXPECT_EQ(sink_.api_calls[0].kind, ApiKind::synchronize_stream);
  EXPECT_EQ(sink_.api_calls[0].result, 700);
}

TEST_F(DecodeTest, TransferAndRange) {
  table_.device(0, 1);
  const uint32_t name = table_.string("step");
  kvet_record transfer = blank();
  transfer.transfer.kind = KVET_RECORD_TRANSFER;
  transfer.transfer.transfer = KVET_TRANSFER_DEVICE_TO_HOST;
  transfer.transfer.bytes = 4096;
  transfer.transfer.start_ns = 5;
  transfer.transfer.end_ns = 6;
  kvet_record range = blank();
  range.range.kind = KVET_RECORD_RANGE;
  range.range.name = name;
  range.range.start_ns = 1;
  range.range.end_ns = 9;
  range.range.thread_id = 4;
  send({transfer, range});
  ASSERT_EQ(sink_.transfers.size(), 1u);
  EXPECT_EQ(sink_.transfers[0].kind, TransferKind::device_to_host);
  EXPECT_EQ(sink_.transfers[0].bytes, 4096u);
  ASSERT_EQ(sink_.ranges.size(), 1u);
  EXPECT_EQ(sink_.strings[sink_.ranges[0].name.value], "step");
  EXPECT_EQ(sink_.ranges[0].domain, StringId{});
  EXPECT_EQ(sink_.ranges[0].thread_id, 50'004);
}

TEST_F(DecodeTest, AGapInTheSequenceIsALossOfAsManyRecordsAsTheHeaderSays) {
  send({call(KVET_API_SYNCHRONIZE_STREAM, 1, 10, 20)});
  sequence_ += 2;  // two batches with 300 records between them never came
  before_ += 300;
  send({call(KVET_API_SYNCHRONIZE_STREAM, 2, 30, 40)});
  EXPECT_EQ(sink_.lost(LossKind::batch_gap), 300u);
  EXPECT_EQ(sink_.api_calls.size(), 2u);
}

TEST_F(DecodeTest, ALostTailIsFoundInTheTable) {
  send({call(KVET_API_SYNCHRONIZE_STREAM, 1, 10, 20)});
  table_.sent(3, 260);  // two more batches, 259 records, went into a full ring before the process was killed
  decoder_.finish(process_);
  EXPECT_EQ(sink_.lost(LossKind::batch_gap), 259u);
  decoder_.finish(process_);
  EXPECT_EQ(sink_.lost(LossKind::batch_gap), 259u) << "finish is idempotent";
  EXPECT_FALSE(decoder_.totals(process_).said_goodbye);
}

TEST_F(DecodeTest, AProcessThatEndedWithoutAGoodbyeTookRecordsWithIt) {
  send({call(KVET_API_SYNCHRONIZE_STREAM, 1, 10, 20)});
  table_.sent(1, 1);
  table_.state(KVET_INJECT_RECORDING, 500, false);
  decoder_.finish(process_, 900);
  decoder_.finish(process_, 900);
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_EQ(sink_.losses[0].source, Source::cupti);
  EXPECT_EQ(sink_.losses[0].kind, LossKind::ended_without_exit_handlers);
  EXPECT_EQ(sink_.losses[0].count, 1u);
  EXPECT_EQ(sink_.losses[0].first_ns, 500);
  EXPECT_EQ(sink_.losses[0].last_ns, 900);
  ASSERT_TRUE(decoder_.header(process_).has_value()) << "what its table said is still known";
  EXPECT_EQ(decoder_.header(process_)->flushed_ns, 500u);
}

TEST_F(DecodeTest, AForgedTimeOfTheLastFlushIsNotBelieved) {
  send({call(KVET_API_SYNCHRONIZE_STREAM, 1, 10, 20)});
  table_.sent(1, 1);
  table_.state(KVET_INJECT_RECORDING, ~uint64_t{0}, false);
  decoder_.finish(process_, 900);
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_FALSE(sink_.losses[0].first_ns.has_value());
}

TEST_F(DecodeTest, WhoSaidGoodbyeOrLivesOnOrNeverRecordedTookNothing) {
  send({call(KVET_API_SYNCHRONIZE_STREAM, 1, 10, 20)});
  table_.sent(1, 1);
  table_.state(KVET_INJECT_RECORDING, 500, false);
  decoder_.finish(process_);
  table_.state(KVET_INJECT_CUPTI_HELD, 0, false);
  decoder_.finish(process_, 900);
  table_.state(KVET_INJECT_RECORDING, 500, true);
  send({call(KVET_API_SYNCHRONIZE_STREAM, 2, 30, 40)});
  decoder_.finish(process_, 900);
  EXPECT_TRUE(sink_.losses.empty());
}

TEST_F(DecodeTest, NothingIsLostWhenEverythingCame) {
  send({call(KVET_API_SYNCHRONIZE_STREAM, 1, 10, 20)});
  table_.sent(1, 1);
  decoder_.finish(process_);
  EXPECT_TRUE(sink_.losses.empty());
}

TEST_F(DecodeTest, LossRecordsKeepTheirKindAndCount) {
  kvet_record loss = blank();
  loss.loss.kind = KVET_RECORD_LOSS;
  loss.loss.loss = KVET_LOSS_NO_READER;
  loss.loss.count = 12;
  loss.loss.first_ns = 100;
  loss.loss.last_ns = 200;
  send({loss});
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_EQ(sink_.losses[0].kind, LossKind::no_reader);
  EXPECT_EQ(sink_.losses[0].source, Source::usdt);
  EXPECT_EQ(sink_.losses[0].count, 12u);
  EXPECT_EQ(sink_.losses[0].first_ns, 100);
  EXPECT_EQ(sink_.losses[0].last_ns, 200);
}

TEST_F(DecodeTest, ABatchOfAnotherVersionIsCountedAndNotRead) {
  kvet_batch_header header{};
  header.abi_version = KVET_ABI_VERSION + 1;
  header.count = 1;
  const std::vector<kvet_record> records{execution(1, 0, 1, 2)};
  decoder_.decode(process_, header, records);
  EXPECT_TRUE(sink_.executions.empty());
  EXPECT_EQ(sink_.lost(LossKind::unknown_record), 1u);
}

TEST_F(DecodeTest, ACountBeyondTheRecordsGivenIsRefused) {
  kvet_batch_header header{};
  header.abi_version = KVET_ABI_VERSION;
  header.count = 200;
  const std::vector<kvet_record> records(8, execution(1, 0, 1, 2));
  decoder_.decode(process_, header, records);
  EXPECT_TRUE(sink_.executions.empty());
  EXPECT_EQ(sink_.lost(LossKind::unknown_record), 8u);
}

TEST_F(DecodeTest, EventsOfTheRingAreCheckedForSize) {
  table_.device(0, 1);
  const uint32_t shape = table_.shape(table_.string("k"), 1, 32);
  std::vector<std::byte> event(sizeof(kvet_event_batch) + KVET_BATCH_SMALL * sizeof(kvet_record));
  kvet_event_batch head{};
  head.batch.abi_version = KVET_ABI_VERSION;
  head.batch.count = 1;
  head.batch.table_used = table_.used();
  memcpy(event.data(), &head, sizeof(head));
  const kvet_record record = execution(1, shape, 10, 20);
  memcpy(event.data() + sizeof(head), &record, sizeof(record));
  decoder_.decode_event(process_, event);
  EXPECT_EQ(sink_.executions.size(), 1u);
  EXPECT_TRUE(sink_.losses.empty());
  decoder_.decode_event(process_, std::span(event).first(40));
  EXPECT_EQ(sink_.lost(LossKind::unknown_record), 1u);
}

TEST_F(DecodeTest, ImpossibleRecordsAreRejectedAndCounted) {
  kvet_record unknown = blank();
  unknown.kind = 99;
  send({execution(1, 0, 0, 5), execution(2, 0, 9, 5), execution(3, 0, 1, UINT64_MAX), unknown, blank(),
        call(static_cast<kvet_api_kind>(1000), 4, 1, 2)});
  decoder_.finish(process_);
  EXPECT_TRUE(sink_.executions.empty());
  EXPECT_TRUE(sink_.api_calls.empty());
  EXPECT_EQ(decoder_.totals(process_).rejected_records, 6u);
  EXPECT_EQ(sink_.lost(LossKind::unknown_record), 6u);
}

TEST_F(DecodeTest, AnExecutionWaitsForItsDevice) {
  const uint32_t shape = table_.shape(table_.string("k"), 1, 32);
  send({execution(1, shape, 10, 20, 2)});
  EXPECT_TRUE(sink_.executions.empty());
  table_.device(2, 0x22);
  send({execution(2, shape, 30, 40, 2)});
  ASSERT_EQ(sink_.executions.size(), 2u);
  EXPECT_EQ(sink_.executions[0].correlation_id, 1u);
  EXPECT_EQ(sink_.devices[sink_.executions[0].device.value].uuid[0], 0x22);
}

TEST_F(DecodeTest, AnExecutionWhoseDeviceNeverCameIsKeptWithAnUnknownOne) {
  const uint32_t shape = table_.shape(table_.string("k"), 1, 32);
  send({execution(1, shape, 10, 20, 2)});
  decoder_.finish(process_);
  ASSERT_EQ(sink_.executions.size(), 1u);
  EXPECT_EQ(sink_.strings[sink_.devices[sink_.executions[0].device.value].name.value], "(unknown GPU)");
}

TEST_F(DecodeTest, DevicesAreOneByUuidAndShapesByContentAcrossProcesses) {
  const uint32_t shape = table_.shape(table_.string("k"), 1, 32);
  table_.device(0, 0x11);
  send({execution(1, shape, 10, 20, 0)});
  // Another process sees the same GPU as its ordinal 1, and has other names first.
  PlantedTable other;
  other.string("something else");
  other.device(1, 0x11);
  const uint32_t other_shape = other.shape(other.string("k"), 1, 32);
  auto table = other.open();
  ASSERT_TRUE(table.has_value());
  decoder_.set_table(ProcessId{9}, std::move(*table));
  kvet_batch_header header{};
  header.abi_version = KVET_ABI_VERSION;
  header.count = 1;
  header.table_used = other.used();
  const std::vector<kvet_record> records{execution(1, other_shape, 30, 40, 1)};
  decoder_.decode(ProcessId{9}, header, records);
  ASSERT_EQ(sink_.executions.size(), 2u);
  EXPECT_EQ(sink_.executions[0].device, sink_.executions[1].device);
  EXPECT_EQ(sink_.executions[0].shape, sink_.executions[1].shape);
  EXPECT_EQ(sink_.devices.size(), 1u);
  EXPECT_EQ(sink_.shapes.size(), 1u);
}

TEST_F(DecodeTest, AShapeIndexThatIsNoShapeKeepsTheExecutionWithoutAName) {
  table_.device(0, 1);
  const uint32_t string = table_.string("not a shape");
  send({execution(1, string, 10, 20), execution(2, 4'000'000'000u, 30, 40)});
  ASSERT_EQ(sink_.executions.size(), 2u);
  EXPECT_EQ(sink_.name(sink_.executions[0].shape), "(name not recorded)");
  EXPECT_EQ(sink_.executions[0].shape, sink_.executions[1].shape);
}

TEST_F(DecodeTest, AnotherProgramInTheSameProcessStartsAnew) {
  table_.device(0, 1);
  send({execution(1, table_.shape(table_.string("before exec"), 1, 32), 10, 20)});
  PlantedTable after;
  after.device(0, 1);
  const uint32_t shape = after.shape(after.string("after exec"), 1, 32);
  decoder_.set_table(process_, *after.open());
  kvet_batch_header header{};
  header.abi_version = KVET_ABI_VERSION;
  header.count = 1;
  header.table_used = after.used();
  const std::vector<kvet_record> records{execution(1, shape, 30, 40)};
  decoder_.decode(process_, header, records);
  ASSERT_EQ(sink_.executions.size(), 2u);
  EXPECT_EQ(sink_.name(sink_.executions[0].shape), "before exec");
  EXPECT_EQ(sink_.name(sink_.executions[1].shape), "after exec");
  EXPECT_TRUE(sink_.losses.empty());
}

// ---- stream capture: which launches executed nothing

TEST_F(DecodeTest, LaunchesUnderCaptureWithoutAnExecutionAreCaptured) {
  table_.device(0, 1);
  const uint32_t shape = table_.shape(table_.string("k"), 1, 32);
  // The call that begins the capture comes last, as another buffer may bring it.
  send({call(KVET_API_LAUNCH_KERNEL, 11, 120, 130), call(KVET_API_LAUNCH_KERNEL, 12, 140, 150),
        call(KVET_API_LAUNCH_KERNEL, 13, 300, 310), call(KVET_API_CAPTURE_END, 5, 200, 210),
        call(KVET_API_CAPTURE_BEGIN, 4, 100, 110)});
  send({execution(12, shape, 160, 170), execution(13, shape, 320, 330)});  // 12 went to a stream that was not captured
  decoder_.finish(process_);
  ASSERT_EQ(sink_.api_calls.size(), 3u);
  std::map<uint32_t, bool> captured;
  for (const ApiCall& one : sink_.api_calls) {
    captured[one.correlation_id] = one.captured;
  }
  EXPECT_TRUE(captured[11]);
  EXPECT_FALSE(captured[12]);
  EXPECT_FALSE(captured[13]);
  EXPECT_EQ(decoder_.totals(process_).captured_launches, 1u);
}

TEST_F(DecodeTest, ALaunchWhoseExecutionWasLostIsNotCapturedOutsideACapture) {
  send({call(KVET_API_CAPTURE_BEGIN, 1, 100, 110), call(KVET_API_CAPTURE_END, 2, 200, 210),
        call(KVET_API_LAUNCH_KERNEL, 3, 300, 310)});
  decoder_.finish(process_);
  ASSERT_EQ(sink_.api_calls.size(), 1u);
  EXPECT_FALSE(sink_.api_calls[0].captured);
}

TEST_F(DecodeTest, LaunchesAreReleasedWithoutWaitingForTheEnd) {
  constexpr uint64_t second = 1'000'000'000;
  send({call(KVET_API_LAUNCH_KERNEL, 1, 1 * second, 1 * second + 5)});
  EXPECT_EQ(sink_.api_calls.size(), 0u);
  send({call(KVET_API_LAUNCH_KERNEL, 2, 4 * second, 4 * second + 5)});
  EXPECT_EQ(sink_.api_calls.size(), 1u);
}

// ---- tables that lie

class HostileTable : public DecodeTest, public testing::WithParamInterface<int> {};

TEST_P(HostileTable, IsNotReadFurtherAndLosesNoExecution) {
  table_.device(0, 1);
  const uint32_t good = table_.shape(table_.string("good"), 1, 32);
  kvet_entry entry{};
  entry.kind = KVET_ENTRY_STRING;
  entry.size = 32;
  entry.index = 4;
  std::string bytes(32, '\0');
  auto* string = reinterpret_cast<kvet_entry_string*>(bytes.data());
  string->length = 1;
  switch (GetParam()) {
    case 0: entry.size = 8; break;  // smaller than its header
    case 1: entry.size = 0; break;  // would never end
    case 2: entry.size = 0xfffffff8u; break;  // beyond everything
    case 3: entry.size = 30; break;  // not padded
    case 4: entry.index = 9; break;  // skips indices
    case 5: string->length = 5000; break;  // longer than the entry
    case 6: entry.kind = 77; break;  // no such kind
    case 7: entry.kind = KVET_ENTRY_SHAPE; break;  // too short for a shape
    case 8: entry.size = 4096; break;  // longer than what is complete
    default: FAIL();
  }
  table_.raw(entry, bytes);
  table_.string("never read");
  send({execution(1, good, 10, 20), execution(2, 5, 30, 40)});
  ASSERT_EQ(sink_.executions.size(), 2u);
  EXPECT_EQ(sink_.name(sink_.executions[0].shape), "good");
  EXPECT_EQ(sink_.name(sink_.executions[1].shape), "(name not recorded)");
  EXPECT_EQ(sink_.lost(LossKind::table_full), 1u);
  send({execution(3, good, 50, 60)});
  EXPECT_EQ(sink_.lost(LossKind::table_full), 1u) << "said once";
}
INSTANTIATE_TEST_SUITE_P(All, HostileTable, testing::Range(0, 9));

TEST_F(DecodeTest, UsedBeyondTheTableIsHeldToTheTable) {
  table_.device(0, 1);
  kvet_batch_header header{};
  header.abi_version = KVET_ABI_VERSION;
  header.table_used = UINT64_MAX;
  decoder_.decode(process_, header, {});
  EXPECT_EQ(sink_.lost(LossKind::table_full), 1u);  // the zeroes behind the last entry are no entry
}

TEST_F(DecodeTest, ATableThatShrinksUnderTheReaderIsALossAndNotACrash) {
  const uint32_t shape = table_.shape(table_.string("k"), 1, 32);
  table_.device(0, 1);
  auto table = table_.open();
  ASSERT_TRUE(table.has_value());
  decoder_.set_table(process_, std::move(*table));
  ASSERT_EQ(ftruncate(table_.file(), 70), 0);
  send({execution(1, shape, 10, 20)});
  decoder_.finish(process_);
  EXPECT_EQ(sink_.lost(LossKind::table_full), 1u);
  EXPECT_EQ(sink_.executions.size(), 1u);
}

TEST(Table, AnotherVersionIsRefusedWithBothVersionsNamed) {
  PlantedTable table;
  table.set_version(7);
  const auto opened = table.open();
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().message().find("version 7"), std::string::npos);
  EXPECT_NE(opened.error().message().find("version " + std::to_string(KVET_ABI_VERSION)), std::string::npos);
}

TEST(Table, AProcessWithoutOneIsUnavailable) {
  const auto opened = Table::open(getpid());
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace kvet::probes
