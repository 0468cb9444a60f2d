// The packer against records written by hand: what goes in as CUPTI lays it out comes out as abi/records.h says.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "abi/vendor/cupti_driver_callbacks.h"
#include "inject/clock.h"
#include "inject/collector.h"
#include "inject/memory.h"
#include "inject/pack.h"

namespace kvet::inject {
namespace {

// A memory file as the recorder makes it, so that what the emitter hands over can be read back.
class Recorder {
 public:
  explicit Recorder(uint32_t slots = 16) : slots_(slots) {
    const uint64_t tables_offset = (4096 + slots * sizeof(kvet_memory_slot) + 4095) / 4096 * 4096;
    const uint64_t size = tables_offset + KVET_TABLE_BYTES;
    file_ = memfd_create("recorder", 0);
    EXPECT_EQ(ftruncate(file_, static_cast<off_t>(size)), 0);
    map_ = static_cast<unsigned char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    for (uint64_t ticket = 0; ticket < slots; ++ticket) {
      slot(ticket).state = 2 * ticket;
    }
    kvet_memory_header& header = *reinterpret_cast<kvet_memory_header*>(map_);
    header.abi_version = KVET_ABI_VERSION;
    header.slots = slots;
    header.tables = 1;
    header.slots_offset = 4096;
    header.tables_offset = tables_offset;
    header.magic = KVET_MEMORY_MAGIC;
  }
  ~Recorder() {
    munmap(map_, 4096);
    close(file_);
  }
  [[nodiscard]] int file() const { return file_; }
  kvet_memory_slot& slot(uint64_t ticket) { return reinterpret_cast<kvet_memory_slot*>(map_ + 4096)[ticket % slots_]; }
  std::vector<kvet_record> records() {
    std::vector<kvet_record> all;
    for (; slot(next_).state == 2 * next_ + 1; ++next_) {
      const kvet_memory_slot& filled = slot(next_);
      all.insert(all.end(), filled.records, filled.records + filled.header.count);
      headers.push_back(filled.header);
      slot(next_).state = 2 * (next_ + slots_);
    }
    return all;
  }
  std::vector<kvet_batch_header> headers;

 private:
  uint32_t slots_;
  uint64_t next_ = 0;
  int file_;
  unsigned char* map_;
};

class PackerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(ring_.open(recorder_.file(), nullptr));
    uint64_t offset = 0;
    void* memory = ring_.table(&offset);
    ASSERT_NE(memory, nullptr);
    table_.adopt(memory, offset);
    emitter_.use_memory_ring(&ring_);
    packer_.set_time_range(1, now_);
  }
  template <class Record>
  void pack(const Record& record) {
    packer_.pack(reinterpret_cast<const kvet_cupti_activity&>(record));
  }
  std::vector<kvet_record> out() {
    emitter_.append_losses();
    emitter_.flush();
    return recorder_.records();
  }
  // The STRING entry of this index.
  std::string text(uint32_t index) const { return strings()[index]; }
  std::map<uint32_t, std::string> strings() const {
    std::map<uint32_t, std::string> found;
    visit([&](const kvet_entry& entry) {
      if (entry.kind == KVET_ENTRY_STRING) {
        const auto& string = reinterpret_cast<const kvet_entry_string&>(entry);
        found[entry.index] = std::string(reinterpret_cast<const char*>(&string + 1), string.length);
      }
    });
    return found;
  }
  template <class Entry>
  std::vector<Entry> entries(uint16_t kind) const {
    std::vector<Entry> found;
    visit([&](const kvet_entry& entry) {
      if (entry.kind == kind) {
        found.push_back(reinterpret_cast<const Entry&>(entry));
      }
    });
    return found;
  }
  template <class Visit>
  void visit(Visit visit_entry) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(table_.header() + 1);
    uint32_t index = 0;
    for (uint64_t at = 0; at < table_.header()->used;) {
      const auto& entry = *reinterpret_cast<const kvet_entry*>(bytes + at);
      ASSERT_EQ(entry.index, ++index) << "indices count from 1 without a gap";
      ASSERT_EQ(entry.size % 8, 0u);
      visit_entry(entry);
      at += entry.size;
    }
  }
  static kvet_cupti_kernel kernel(const char* name, uint64_t start, uint64_t end) {
    kvet_cupti_kernel record{};
    record.kind = KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL;
    record.name = name;
    record.start = start;
    record.end = end;
    record.grid[0] = 264;
    record.grid[1] = 2;
    record.grid[2] = 1;
    record.block[0] = 256;
    record.block[1] = record.block[2] = 1;
    record.registers_per_thread = 40;
    record.static_shared_memory = 128;
    record.dynamic_shared_memory = 4096;
    record.shared_memory_executed = 102400;
    record.cluster[0] = 2;
    record.cluster[1] = record.cluster[2] = 1;
    record.max_active_clusters = 66;
    record.device_id = 1;
    record.context_id = 2;
    record.stream_id = 13;
    record.correlation_id = 4711;
    record.graph_id = 5;
    record.graph_node_id = 0x5'0000'0001;
    record.channel_id = 9;
    return record;
  }
  static kvet_cupti_marker marker(uint32_t flags, uint32_t id, uint64_t time, uint32_t thread, const char* name,
                                  const char* domain = nullptr) {
    kvet_cupti_marker record{};
    record.kind = KVET_CUPTI_ACTIVITY_MARKER;
    record.flags = flags;
    record.id = id;
    record.timestamp = time;
    record.object_kind = KVET_CUPTI_OBJECT_THREAD;
    record.object_id.thread_or_context = thread;
    record.name = name;
    record.domain = domain;
    return record;
  }

  static constexpr uint64_t now_ = 1'000'000;
  Recorder recorder_;
  MemoryRingWriter ring_;
  TableWriter table_;
  Losses losses_;
  Emitter emitter_{table_, losses_};
  CodeHashes hashes_;
  Packer packer_{table_, emitter_, losses_, hashes_};
};

TEST_F(PackerTest, KernelKeepsEveryField) {
  pack(kernel("_Z4normPf", 1000, 2000));
  const auto records = out();
  ASSERT_EQ(records.size(), 1u);
  const kvet_record_execution& e = records[0].execution;
  EXPECT_EQ(e.kind, KVET_RECORD_EXECUTION);
  EXPECT_EQ(e.device, 1);
  EXPECT_EQ(e.correlation_id, 4711u);
  EXPECT_EQ(e.start_ns, 1000u);
  EXPECT_EQ(e.end_ns, 2000u);
  EXPECT_EQ(e.graph_node_id, 0x5'0000'0001u);
  EXPECT_EQ(e.graph_id, 5u);
  EXPECT_EQ(e.context_id, 2u);
  EXPECT_EQ(e.stream_id, 13u);
  EXPECT_EQ(e.channel_id, 9u);
  const auto shapes = entries<kvet_entry_shape>(KVET_ENTRY_SHAPE);
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(shapes[0].entry.index, e.shape);
  EXPECT_EQ(text(shapes[0].name), "_Z4normPf");
  EXPECT_EQ(shapes[0].grid[0], 264u);
  EXPECT_EQ(shapes[0].grid[1], 2u);
  EXPECT_EQ(shapes[0].block[0], 256u);
  EXPECT_EQ(shapes[0].cluster[0], 2u);
  EXPECT_EQ(shapes[0].registers_per_thread, 40u);
  EXPECT_EQ(shapes[0].static_shared_bytes, 128u);
  EXPECT_EQ(shapes[0].dynamic_shared_bytes, 4096u);
  EXPECT_EQ(shapes[0].shared_executed_bytes, 102400u);
  EXPECT_EQ(shapes[0].max_active_clusters, 66u);
}

TEST_F(PackerTest, OneShapePerContentAndOneStringPerText) {
  // The same text at another address is the same name, and another text at the same address is another.
  char first[] = "kernel_a";
  char second[] = "kernel_a";
  pack(kernel(first, 10, 20));
  pack(kernel(second, 30, 40));
  kvet_cupti_kernel wider = kernel(first, 50, 60);
  wider.grid[0] = 528;
  pack(wider);
  strcpy(first, "kernel_b");
  pack(kernel(first, 70, 80));
  const auto records = out();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].execution.shape, records[1].execution.shape);
  EXPECT_NE(records[0].execution.shape, records[2].execution.shape);
  EXPECT_NE(records[0].execution.shape, records[3].execution.shape);
  EXPECT_EQ(entries<kvet_entry_shape>(KVET_ENTRY_SHAPE).size(), 3u);
  EXPECT_EQ(entries<kvet_entry_string>(KVET_ENTRY_STRING).size(), 2u);
}

TEST_F(PackerTest, ACodeHashThatBecomesKnownOrAmbiguousIsNotMissedByTheCache) {
  const auto hash_now = [&] {
    pack(kernel("norm", 10, 20));
    const uint32_t index = out().at(0).execution.shape;
    for (const kvet_entry_shape& shape : entries<kvet_entry_shape>(KVET_ENTRY_SHAPE)) {
      if (shape.entry.index == index) {
        return shape.code_hash;
      }
    }
    return ~uint64_t{0};
  };
  EXPECT_EQ(hash_now(), 0u);
  hashes_.add("norm", 4, 32, 1234);
  EXPECT_EQ(hash_now(), 1234u);
  EXPECT_EQ(hash_now(), 1234u);
  hashes_.add("norm", 4, 40, 5678);  // the record says 40 registers
  EXPECT_EQ(hash_now(), 5678u);
  hashes_.add("norm", 4, 40, 9999);
  EXPECT_EQ(hash_now(), 0u);
}

TEST_F(PackerTest, ManyShapesSurviveTheGrowthOfTheIndex) {
  constexpr uint32_t count = 20'000;  // the index begins with room for 2,048
  std::vector<uint32_t> shapes;
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < count; ++i) {
      const std::string name = "kernel_" + std::to_string(i / 4);
      kvet_cupti_kernel record = kernel(name.c_str(), 10, 20);
      record.grid[0] = static_cast<int32_t>(i % 4 + 1);
      pack(record);
      for (const kvet_record& one : out()) {
        shapes.push_back(one.execution.shape);
      }
    }
  }
  ASSERT_EQ(shapes.size(), 2 * count);
  for (uint32_t i = 0; i < count; ++i) {
    ASSERT_EQ(shapes[i], shapes[count + i]);
  }
  EXPECT_EQ(entries<kvet_entry_shape>(KVET_ENTRY_SHAPE).size(), count);
  EXPECT_EQ(entries<kvet_entry_string>(KVET_ENTRY_STRING).size(), count / 4);
}

TEST_F(PackerTest, BadTimesAreQuarantinedAndCounted) {
  pack(kernel("k", 0, 0));          // never filled in
  pack(kernel("k", 500, 400));      // inverted
  pack(kernel("k", 100, now_ + 1)); // in the future
  packer_.set_time_range(1000, now_);
  pack(kernel("k", 999, 2000));     // before the library was there
  pack(kernel("k", 1000, 2000));
  const auto records = out();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].kind, KVET_RECORD_EXECUTION);
  EXPECT_EQ(records[1].kind, KVET_RECORD_LOSS);
  EXPECT_EQ(records[1].loss.loss, KVET_LOSS_BAD_TIME);
  EXPECT_EQ(records[1].loss.count, 4u);
}

TEST_F(PackerTest, ApiCallsAreClassifiedAndOthersLeftOut) {
  kvet_cupti_api record{};
  record.kind = KVET_CUPTI_ACTIVITY_DRIVER;
  record.callback_id = 652;  // cuLaunchKernelEx, by NVIDIA's numbering
  record.start = 10;
  record.end = 20;
  record.thread_id = 99;
  record.correlation_id = 7;
  record.return_value = 700;
  pack(record);
  record.callback_id = 1;  // cuInit: none of ours
  pack(record);
  const auto records = out();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].api_call.api, KVET_API_LAUNCH_KERNEL);
  EXPECT_EQ(records[0].api_call.correlation_id, 7u);
  EXPECT_EQ(records[0].api_call.thread_id, 99u);
  EXPECT_EQ(records[0].api_call.result, 700);
  EXPECT_EQ(records[0].api_call.callback_id, 652u);
}

TEST_F(PackerTest, AFullQueueIsPartOfItsLaunchAndOtherOverheadsAreLeftOut) {
  table_.header()->cupti_version = KVET_CUPTI_VERSION_COMMAND_BUFFER_FULL;
  kvet_cupti_overhead record{};
  record.kind = KVET_CUPTI_ACTIVITY_OVERHEAD;
  record.overhead_kind = KVET_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL;
  record.object_kind = KVET_CUPTI_OBJECT_THREAD;
  record.object_id.thread_or_context = 4711;
  record.start = 1000;
  record.end = 1800;
  record.correlation_id = 77;
  record.data = malloc(12);  // the sanitizers see whether it is given back
  pack(record);
  record.data = nullptr;
  record.object_kind = KVET_CUPTI_OBJECT_CONTEXT;
  pack(record);
  record.overhead_kind = 1 << 16;  // CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH
  pack(record);
  table_.header()->cupti_version = KVET_CUPTI_VERSION_COMMAND_BUFFER_FULL - 1;  // its records are shorter
  record.overhead_kind = KVET_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL;
  pack(record);
  const std::vector<kvet_record> records = out();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].api_call.kind, KVET_RECORD_API_CALL);
  EXPECT_EQ(records[0].api_call.api, KVET_API_WAIT_FOR_QUEUE);
  EXPECT_EQ(records[0].api_call.correlation_id, 77u);
  EXPECT_EQ(records[0].api_call.start_ns, 1000u);
  EXPECT_EQ(records[0].api_call.end_ns, 1800u);
  EXPECT_EQ(records[0].api_call.thread_id, 4711u);
  EXPECT_EQ(records[1].api_call.thread_id, 0u);
}

TEST_F(PackerTest, EveryEntryPointOfTheListHasItsKind) {
  EXPECT_EQ(api_kind(307), KVET_API_LAUNCH_KERNEL);
  EXPECT_EQ(api_kind(442), KVET_API_LAUNCH_KERNEL);       // _ptsz
  EXPECT_EQ(api_kind(477), KVET_API_LAUNCH_COOPERATIVE);
  EXPECT_EQ(api_kind(514), KVET_API_LAUNCH_GRAPH);
  EXPECT_EQ(api_kind(527), KVET_API_LAUNCH_HOST_FUNCTION);
  EXPECT_EQ(api_kind(126), KVET_API_SYNCHRONIZE_STREAM);
  EXPECT_EQ(api_kind(17), KVET_API_SYNCHRONIZE_CONTEXT);
  EXPECT_EQ(api_kind(121), KVET_API_SYNCHRONIZE_EVENT);
  EXPECT_EQ(api_kind(278), KVET_API_SYNCHRONIZE_COPY);    // cuMemcpyDtoH_v2
  EXPECT_EQ(api_kind(280), KVET_API_COPY_ASYNC);          // cuMemcpyDtoD_v2 does not wait
  EXPECT_EQ(api_kind(539), KVET_API_CAPTURE_BEGIN);
  EXPECT_EQ(api_kind(497), KVET_API_CAPTURE_END);
  EXPECT_EQ(api_kind(2), 0);
}

TEST_F(PackerTest, TransfersOfEachKind) {
  kvet_cupti_memcpy copy{};
  copy.kind = KVET_CUPTI_ACTIVITY_MEMCPY;
  copy.copy_kind = KVET_CUPTI_COPY_DTOH;
  copy.bytes = 1 << 20;
  copy.start = 10;
  copy.end = 20;
  copy.device_id = 3;
  copy.correlation_id = 5;
  copy.graph_node_id = 6;
  pack(copy);
  kvet_cupti_memcpy_peer peer{};
  peer.kind = KVET_CUPTI_ACTIVITY_MEMCPY2;
  peer.bytes = 77;
  peer.start = 30;
  peer.end = 40;
  peer.device_id = 0;
  peer.source_device_id = 0;
  peer.destination_device_id = 4;
  pack(peer);
  kvet_cupti_memset set{};
  set.kind = KVET_CUPTI_ACTIVITY_MEMSET;
  set.bytes = 88;
  set.start = 50;
  set.end = 60;
  pack(set);
  const auto records = out();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].transfer.transfer, KVET_TRANSFER_DEVICE_TO_HOST);
  EXPECT_EQ(records[0].transfer.bytes, 1u << 20);
  EXPECT_EQ(records[0].transfer.device, 3);
  EXPECT_EQ(records[0].transfer.graph_node_id, 6u);
  EXPECT_EQ(records[1].transfer.transfer, KVET_TRANSFER_PEER);
  EXPECT_EQ(records[1].transfer.peer_device, 4);
  EXPECT_EQ(records[2].transfer.transfer, KVET_TRANSFER_MEMSET);
  EXPECT_EQ(records[2].transfer.bytes, 88u);
}

TEST_F(PackerTest, DeviceHasTheUuidThatNamesWhatThePartitionIs) {
  kvet_cupti_device device{};
  device.kind = KVET_CUPTI_ACTIVITY_DEVICE;
  device.id = 2;
  device.name = "NVIDIA H200";
  device.multiprocessors = 132;
  memset(device.uuid.bytes, 0x11, 16);
  memset(device.mig_uuid.bytes, 0x22, 16);
  pack(device);
  pack(device);  // CUPTI says it again for every context
  device.is_mig_enabled = 1;
  pack(device);
  const auto devices = entries<kvet_entry_device>(KVET_ENTRY_DEVICE);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].ordinal, 2u);
  EXPECT_EQ(text(devices[0].name), "NVIDIA H200");
  EXPECT_EQ(devices[0].multiprocessors, 132u);
  EXPECT_EQ(devices[0].uuid[0], 0x11);
  EXPECT_EQ(devices[1].uuid[0], 0x22);
  EXPECT_EQ(devices[0].mig, 0u);
  EXPECT_EQ(devices[1].mig, 1u);
}

kvet_cupti_context2 green_context() {
  kvet_cupti_context2 record{};
  record.base.kind = KVET_CUPTI_ACTIVITY_CONTEXT;
  record.base.context_id = 4;
  record.base.device_id = 2;
  record.base.compute_api_kind = KVET_CUPTI_COMPUTE_API_CUDA;
  record.base.null_stream_id = 7;
  record.parent_context_id = 1;
  record.is_green_context = 1;
  record.multiprocessors = 16;
  return record;
}

TEST_F(PackerTest, AGreenContextHasItsParentAndItsShareOfTheDevice) {
  table_.header()->cupti_version = 23;  // CUDA 12.5
  pack(green_context());
  const auto contexts = entries<kvet_entry_context>(KVET_ENTRY_CONTEXT);
  ASSERT_EQ(contexts.size(), 1u);
  EXPECT_EQ(contexts[0].context_id, 4u);
  EXPECT_EQ(contexts[0].device_ordinal, 2u);
  EXPECT_EQ(contexts[0].sharing, KVET_CONTEXT_TIME_SLICED);
  EXPECT_EQ(contexts[0].parent_context_id, 1u);
  EXPECT_EQ(contexts[0].green, 1u);
  EXPECT_EQ(contexts[0].multiprocessors, 16u);
}

// What follows the record of an older libcupti is the next record: it must not be taken for these fields.
TEST_F(PackerTest, AnOlderContextRecordIsReadNoFurtherThanItGoes) {
  for (uint32_t version : {19u, 21u, 22u}) {
    table_.header()->cupti_version = version;
    pack(green_context());
  }
  const auto contexts = entries<kvet_entry_context>(KVET_ENTRY_CONTEXT);
  ASSERT_EQ(contexts.size(), 3u);
  for (int older : {0, 1}) {
    EXPECT_EQ(contexts[static_cast<size_t>(older)].green, 0u);
    EXPECT_EQ(contexts[static_cast<size_t>(older)].parent_context_id, 0u);
  }
  EXPECT_EQ(contexts[2].green, 1u) << "CUDA 12.4 says which are green";
  EXPECT_EQ(contexts[2].multiprocessors, 0u) << "and not yet how large they are";
}

TEST_F(PackerTest, AnMpsClientHasItsLimit) {
  table_.header()->cupti_version = KVET_CUPTI_VERSION_CHECKED;
  const struct {
    const char* text;
    uint32_t centipercent;
  } limits[] = {{"25", 2500}, {"12.5", 1250}, {"33.333", 3333}, {"100", 10'000},   {"101", 0},
                {"", 0},      {"half", 0},    {"-5", 0},        {"99999999999", 0}};
  kvet_cupti_context2 record = green_context();
  record.is_green_context = 0;
  record.base.compute_api_kind = KVET_CUPTI_COMPUTE_API_CUDA_MPS;
  for (const auto& limit : limits) {
    setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", limit.text, 1);
    pack(record);
  }
  unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  pack(record);
  const auto contexts = entries<kvet_entry_context>(KVET_ENTRY_CONTEXT);
  ASSERT_EQ(contexts.size(), std::size(limits) + 1);
  for (size_t i = 0; i < std::size(limits); ++i) {
    EXPECT_EQ(contexts[i].sharing, KVET_CONTEXT_MPS);
    EXPECT_EQ(contexts[i].thread_centipercent, limits[i].centipercent) << limits[i].text;
  }
  EXPECT_EQ(contexts.back().thread_centipercent, 0u);
}

TEST_F(PackerTest, ARangeIsItsTwoMarkersInEitherOrder) {
  pack(marker(KVET_CUPTI_MARKER_START, 1, 100, 50, "step", "app"));
  pack(marker(KVET_CUPTI_MARKER_END, 2, 400, 51, nullptr));  // its start comes later, from another thread's buffer
  pack(marker(KVET_CUPTI_MARKER_END, 1, 200, 50, nullptr));
  pack(marker(KVET_CUPTI_MARKER_START, 2, 300, 50, "request", ""));
  pack(marker(KVET_CUPTI_MARKER_INSTANTANEOUS, 3, 300, 50, "mark"));
  pack(marker(KVET_CUPTI_MARKER_START, 4, 500, 50, "never closed"));
  const auto records = out();
  ASSERT_EQ(records.size(), 2u);
  const kvet_record_range& step = records[0].range;
  EXPECT_EQ(text(step.name), "step");
  EXPECT_EQ(text(step.domain), "app");
  EXPECT_EQ(step.start_ns, 100u);
  EXPECT_EQ(step.end_ns, 200u);
  EXPECT_EQ(step.thread_id, 50u);
  EXPECT_EQ(step.flags, 0);
  const kvet_record_range& request = records[1].range;
  EXPECT_EQ(text(request.name), "request");
  EXPECT_EQ(request.domain, 0u);
  EXPECT_EQ(request.start_ns, 300u);
  EXPECT_EQ(request.end_ns, 400u);
  EXPECT_EQ(request.flags, 1) << "it crossed threads";
}

TEST_F(PackerTest, OpenRangesAreBoundedAndReused) {
  for (uint32_t id = 1; id <= 65'536 + 10; ++id) {
    pack(marker(KVET_CUPTI_MARKER_START, id, 100, 50, "open"));
  }
  for (uint32_t id = 1; id <= 65'536; ++id) {
    pack(marker(KVET_CUPTI_MARKER_END, id, 200, 50, nullptr));
  }
  pack(marker(KVET_CUPTI_MARKER_START, 1, 300, 50, "again"));
  pack(marker(KVET_CUPTI_MARKER_END, 1, 400, 50, nullptr));
  // The ring holds the first 16 batches; what it had no room for is counted, beside the ten ranges too many.
  uint64_t ranges = 0, lost = 0;
  for (int turn = 0; turn < 2; ++turn) {
    for (const kvet_record& record : out()) {
      ranges += record.kind == KVET_RECORD_RANGE ? 1 : 0;
      lost += record.kind == KVET_RECORD_LOSS ? record.loss.count : 0;
    }
  }
  EXPECT_EQ(ranges, 16u * 256);
  EXPECT_EQ(ranges + lost, 65'536u + 1 + 10);
}

TEST_F(PackerTest, UnknownKindsAreCounted) {
  kvet_cupti_activity record{};
  record.kind = 40;  // NVLINK
  pack(record);
  const auto records = out();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].loss.loss, KVET_LOSS_UNKNOWN_RECORD);
}

TEST_F(PackerTest, BatchesAreNumberedWithoutAGapAndAsSmallAsTheyCanBe) {
  const std::vector<std::pair<int, uint32_t>> sizes{{1, 8}, {8, 8}, {9, 64}, {64, 64}, {65, 256}, {256, 256}};
  for (const auto& [count, capacity] : sizes) {
    for (int i = 0; i < count; ++i) {
      pack(kernel("k", 10, 20));
    }
    emitter_.flush();
  }
  emitter_.flush();  // nothing to send: no batch
  recorder_.records();
  ASSERT_EQ(recorder_.headers.size(), sizes.size());
  uint64_t before = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const kvet_batch_header& header = recorder_.headers[i];
    EXPECT_EQ(header.sequence, i);
    EXPECT_EQ(header.records_before, before);
    EXPECT_EQ(header.count, static_cast<uint32_t>(sizes[i].first));
    EXPECT_EQ(header.capacity, sizes[i].second);
    EXPECT_EQ(header.abi_version, KVET_ABI_VERSION);
    EXPECT_EQ(header.target_pid, static_cast<uint32_t>(getpid()));
    before += header.count;
  }
  EXPECT_EQ(table_.header()->batches_sent, sizes.size());
  EXPECT_EQ(table_.header()->records_sent, before);
}

TEST_F(PackerTest, AFullRingCostsRecordsThatAreCountedAndNoTicket) {
  for (int i = 0; i < 16 * 256 + 100; ++i) {
    pack(kernel("k", 10, 20));
  }
  emitter_.flush();  // 16 batches fit; the 17th, of 100 records, does not
  EXPECT_EQ(recorder_.records().size(), 16u * 256);
  const auto records = out();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].loss.loss, KVET_LOSS_BATCH_SLOT);
  EXPECT_EQ(records[0].loss.count, 100u);
  EXPECT_EQ(recorder_.headers.back().sequence, 16u) << "the dropped batch used no number";
}

TEST(EmitterWithoutReader, CountsWhatNobodyReads) {
  // No memory file, and no reader at the probe: its semaphore is 0.
  TableWriter table;
  int error = 0;
  ASSERT_TRUE(table.create(&error));
  Losses losses;
  Emitter emitter(table, losses);
  EXPECT_FALSE(emitter.has_reader());
  losses.count(KVET_LOSS_BAD_TIME, 3, 50);
  for (int i = 0; i < 300; ++i) {
    emitter.next().kind = KVET_RECORD_EXECUTION;
  }
  emitter.flush(true);
  EXPECT_EQ(table.header()->batches_sent, 0u);
  kvet_record loss;
  ASSERT_TRUE(losses.take(KVET_LOSS_NO_READER, loss));
  EXPECT_EQ(loss.loss.count, 300u);
  ASSERT_TRUE(losses.take(KVET_LOSS_BAD_TIME, loss));
  EXPECT_EQ(loss.loss.count, 3u);
}

TEST(TableWriter, AFullTableIsCountedAndWhatIsInItStaysFindable) {
  TableWriter table;
  int error = 0;
  ASSERT_TRUE(table.create(&error));
  const std::string text(60'000, 'x');
  uint64_t refused = 0;
  uint32_t first = 0;
  for (int i = 0; i < 1200; ++i) {  // 1,118 of these fill 64 MiB
    const std::string name = std::to_string(i) + text;
    const uint32_t index = table.string(name.data(), name.size());
    first = i == 0 ? index : first;
    refused += index == 0 ? 1 : 0;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(table.lost(), refused);
  const std::string name = "0" + text;
  EXPECT_EQ(table.string(name.data(), name.size()), first);
}

// A file that grows over the limit brings SIGXFSZ, which ends a process that does not expect it.
TEST(TableWriter, ALimitOnFilesMakesTheTableSmallerAndEndsNobody) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr size_t most = 1 << 20;
    const rlimit limit{most, most};
    setrlimit(RLIMIT_FSIZE, &limit);
    TableWriter table;
    int error = 0;
    if (!table.create(&error)) {
      _exit(2);
    }
    const uint32_t first = table.string("first", 5);
    char text[1000] = {};
    for (uint32_t number = 0; number < 2000; ++number) {  // 2 MB
      memcpy(text, &number, sizeof number);
      table.string(text, sizeof text);
    }
    const bool whole = first != 0 && table.string("first", 5) == first;
    const bool bounded = table.used() <= most - sizeof(kvet_table) && table.used() > most / 2 && table.lost() > 0;
    _exit(whole && bounded ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace kvet::inject
