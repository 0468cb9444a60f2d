// Batches and tables with random damage. Nothing is expected of the events but that the decoder comes back, and that every
// id it gives out is one that it has announced; the sanitizers watch the rest.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "probes/activity/decode.h"
#include "probes/activity/memory_ring.h"
#include "probes/activity/test_sink.h"

namespace kvet::probes {
namespace {

using Bytes = std::vector<unsigned char>;

template <class Entry>
void append(Bytes& table, uint16_t kind, const Entry& content, const char* text, uint32_t index) {
  Bytes entry(sizeof(Entry));
  memcpy(entry.data(), &content, sizeof(content));
  entry.insert(entry.end(), text, text + strlen(text));
  entry.resize((entry.size() + 7) / 8 * 8);
  kvet_entry head{};
  head.kind = kind;
  head.size = static_cast<uint32_t>(entry.size());
  head.index = index;
  memcpy(entry.data(), &head, sizeof(head));
  table.insert(table.end(), entry.begin(), entry.end());
}

Bytes valid_table() {
  Bytes bytes(sizeof(kvet_table));
  kvet_entry_string string{};
  string.length = 4;
  append(bytes, KVET_ENTRY_STRING, string, "name", 1);
  kvet_entry_shape shape{};
  shape.name = 1;
  append(bytes, KVET_ENTRY_SHAPE, shape, "", 2);
  kvet_entry_device device{};
  device.name = 1;
  append(bytes, KVET_ENTRY_DEVICE, device, "", 3);
  append(bytes, KVET_ENTRY_CONTEXT, kvet_entry_context{}, "", 4);
  kvet_table header{};
  header.magic = KVET_TABLE_MAGIC;
  header.abi_version = KVET_ABI_VERSION;
  header.used = bytes.size() - sizeof(header);
  memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::vector<kvet_record> valid_records() {
  std::vector<kvet_record> records(6);
  memset(static_cast<void*>(records.data()), 0, records.size() * sizeof(kvet_record));
  for (size_t i = 0; i < 5; ++i) {
    records[i].kind = static_cast<uint16_t>(KVET_RECORD_EXECUTION + i);
    records[i].execution.start_ns = 10;  // at the same place in every kind
    records[i].execution.end_ns = 20;
  }
  records[0].execution.shape = 2;
  records[1].api_call.api = KVET_API_LAUNCH_KERNEL;
  records[2].transfer.transfer = KVET_TRANSFER_MEMSET;
  records[3].range.name = 1;
  records[3].range.start_ns = 10;
  records[3].range.end_ns = 20;
  records[4].loss.loss = KVET_LOSS_BAD_TIME;
  records[4].loss.count = 1;
  records[5].api_call.kind = KVET_RECORD_API_CALL;
  records[5].api_call.api = KVET_API_CAPTURE_BEGIN;
  records[5].api_call.start_ns = 5;
  records[5].api_call.end_ns = 6;
  return records;
}

TEST(Hostile, RandomDamageNeverReachesTheSinkAsAnUnknownId) {
  std::mt19937 random(20240607);
  const auto damage = [&](unsigned char* bytes, size_t size) {
    const unsigned places = random() % 4;
    for (unsigned i = 0; i < places; ++i) {
      constexpr unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
      bytes[random() % size] = random() % 2 == 0 ? values[random() % 5] : static_cast<unsigned char>(random());
    }
  };
  const int file = memfd_create("hostile", 0);
  ASSERT_EQ(ftruncate(file, KVET_TABLE_BYTES), 0);
  for (int turn = 0; turn < 20'000; ++turn) {
    Bytes table = valid_table();
    const size_t table_size = table.size();
    damage(table.data() + sizeof(kvet_table), table_size - sizeof(kvet_table));
    ASSERT_EQ(pwrite(file, table.data(), table_size, 0), static_cast<ssize_t>(table_size));
    TestSink sink;
    DeviceDirectory devices;
    ActivityDecoder decoder(sink, devices, {});
    decoder.set_table(ProcessId{0}, *Table::in_memory_file(file, 0));
    for (int batch = 0; batch < 2; ++batch) {
      std::vector<kvet_record> records = valid_records();
      damage(reinterpret_cast<unsigned char*>(records.data()), records.size() * sizeof(kvet_record));
      kvet_event_batch head{};
      head.batch.abi_version = KVET_ABI_VERSION;
      head.batch.count = static_cast<uint32_t>(records.size());
      head.batch.sequence = static_cast<uint64_t>(batch);
      head.batch.table_used = table_size - sizeof(kvet_table);
      damage(reinterpret_cast<unsigned char*>(&head), sizeof(head));
      std::vector<std::byte> event(sizeof(head) + records.size() * sizeof(kvet_record));
      memcpy(event.data(), &head, sizeof(head));
      memcpy(event.data() + sizeof(head), records.data(), records.size() * sizeof(kvet_record));
      decoder.decode_event(ProcessId{0}, event);
    }
    decoder.finish_all();
    for (const Execution& execution : sink.executions) {
      ASSERT_LT(execution.shape.value, sink.shapes.size());
      ASSERT_LT(execution.device.value, sink.devices.size());
      ASSERT_LE(execution.start_ns, execution.end_ns);
      ASSERT_GT(execution.start_ns, 0);
    }
    for (const KernelShape& shape : sink.shapes) {
      ASSERT_LT(shape.name.value, sink.strings.size());
    }
    for (const Range& range : sink.ranges) {
      ASSERT_LT(range.name.value, sink.strings.size());
      ASSERT_LT(range.domain.value, sink.strings.size());
    }
  }
  close(file);
}

TEST(Hostile, AScribbledRingEndsAndDoesNotFault) {
  std::mt19937 random(7);
  auto ring = MemoryRing::create(8, 1);
  ASSERT_TRUE(ring.has_value());
  // The target's mapping of the same file.
  const size_t size = 4096 + 8 * sizeof(kvet_memory_slot);
  auto* shared =
      static_cast<unsigned char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->descriptor(), 0));
  ASSERT_NE(shared, MAP_FAILED);
  EXPECT_NE(ftruncate(ring->descriptor(), 100), 0) << "sealed: a target cannot shrink it under the recorder";
  size_t tables = 0;
  for (int turn = 0; turn < 2'000; ++turn) {
    for (int i = 0; i < 64; ++i) {
      shared[random() % size] = static_cast<unsigned char>(random());
    }
    // Scribble over states and counts, where it matters.
    auto* slot = reinterpret_cast<kvet_memory_slot*>(shared + 4096) + random() % 8;
    slot->state = random() % 64;
    slot->header.count = random() % 3 == 0 ? 0xffffffffu : random() % 300;
    const auto handler = [&](const kvet_batch_header& header, std::span<const kvet_record> records) {
      ASSERT_LE(header.count, records.size());
      ASSERT_LE(records.size(), size_t{KVET_BATCH_LARGE});
      tables += ring->table(header).has_value() ? 1 : 0;
    };
    ring->poll(handler);
    ring->drain(handler);
  }
  EXPECT_EQ(tables, 0u) << "no table was ever made in this file";
  munmap(shared, size);
}

TEST(MemoryRing, ASlotWhoseWriterDiedIsSkippedAtTheEndAndCounted) {
  auto ring = MemoryRing::create(4, 1);
  ASSERT_TRUE(ring.has_value());
  auto* shared = static_cast<unsigned char*>(
      mmap(nullptr, 4096 + 4 * sizeof(kvet_memory_slot), PROT_READ | PROT_WRITE, MAP_SHARED, ring->descriptor(), 0));
  ASSERT_NE(shared, MAP_FAILED);
  auto* header = reinterpret_cast<kvet_memory_header*>(shared);
  auto* slots = reinterpret_cast<kvet_memory_slot*>(shared + 4096);
  // Ticket 0 was taken and its writer died; ticket 1 was filled.
  header->head = 2;
  slots[1].header.count = 1;
  slots[1].header.sequence = 42;
  slots[1].state = 2 * 1 + 1;
  std::vector<uint64_t> seen;
  const auto handler = [&](const kvet_batch_header& batch, std::span<const kvet_record>) {
    seen.push_back(batch.sequence);
  };
  EXPECT_EQ(ring->poll(handler), 0u) << "it may yet be filled";
  EXPECT_EQ(ring->drain(handler), 1u);
  EXPECT_EQ(seen, std::vector<uint64_t>{42});
  EXPECT_EQ(ring->skipped_batches(), 1u);
  EXPECT_EQ(slots[0].state, 2u * 4) << "free for the next lap";
  EXPECT_EQ(slots[1].state, 2u * 5);
  munmap(shared, 4096);
}

}  // namespace
}  // namespace kvet::probes
