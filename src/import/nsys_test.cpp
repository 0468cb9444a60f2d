// Exports made by hand (testdata/), whose every value is known, and what may be wrong with such a file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "database/sqlite.h"
#include "import/formats.h"
#include "import/recording_sink.h"

namespace kvet::importing {
namespace {

class Nsys : public testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }

  // Writes the export `name` of testdata, changed by more SQL.
  void write(const std::string& name, const std::string& more = "") {
    std::remove(path_.c_str());
    const std::ifstream file{std::string(KVET_SOURCE_DIR "/src/import/testdata/") + name};
    std::stringstream sql;
    sql << file.rdbuf();
    auto database =
        database::open_database(path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path_, ErrorKind::internal);
    ASSERT_TRUE(database);
    for (const std::string& part : {sql.str(), more}) {
      const auto done = database::execute(database->get(), part, path_, ErrorKind::internal);
      ASSERT_TRUE(done) << done.error().message();
    }
  }
  void read() {
    sink_ = RecordingSink{};
    const auto done = import_nsys({path_}, sink_);
    ASSERT_TRUE(done) << done.error().message();
  }
  void read(const std::string& name, const std::string& more = "") {
    write(name, more);
    read();
  }
  void expect_refused(const std::string& why) {
    RecordingSink sink;
    const auto done = import_nsys({path_}, sink);
    ASSERT_FALSE(done) << "not refused: " << why;
    EXPECT_EQ(done.error().exit_status(), 65);
    EXPECT_EQ(done.error().subject, path_);
    EXPECT_NE(done.error().message().find(why), std::string::npos) << done.error().message();
    EXPECT_FALSE(done.error().advice.empty());
  }
  uint64_t lost(LossKind kind) const {
    uint64_t count = 0;
    for (const Loss& loss : sink_.losses) {
      EXPECT_EQ(loss.source, Source::imported);
      count += loss.kind == kind ? loss.count : 0;
    }
    return count;
  }
  const KernelShape& shape(const Execution& execution) const { return sink_.shapes[execution.shape.value]; }

  std::string path_ = testing::TempDir() + std::to_string(::getpid()) + "_nsys.sqlite";
  RecordingSink sink_;
};

TEST_F(Nsys, KernelsComeWithShapeStreamGraphAndNames) {
  read("nsys_3_25.sql");
  ASSERT_EQ(sink_.executions.size(), 4u);
  const Execution& first = sink_.executions[0];
  EXPECT_EQ(first.start_ns, 1000);
  EXPECT_EQ(first.end_ns, 3000);
  EXPECT_EQ(first.stream_id, 7u);
  EXPECT_EQ(first.context_id, 1u);
  EXPECT_EQ(first.correlation_id, 101u);
  EXPECT_EQ(first.graph_node_id, 0u);
  EXPECT_EQ(sink_.text(shape(first).name), "_Z4gemmPf");
  EXPECT_EQ(shape(first).grid, (std::array<uint32_t, 3>{32, 2, 1}));
  EXPECT_EQ(shape(first).block, (std::array<uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ(shape(first).cluster, (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_EQ(shape(first).max_active_clusters, 66u);
  EXPECT_EQ(shape(first).registers_per_thread, 96u);
  EXPECT_EQ(shape(first).static_shared_bytes, 1024u);
  EXPECT_EQ(shape(first).dynamic_shared_bytes, 2048u);
  EXPECT_EQ(shape(first).local_bytes_per_thread, 16u);
  EXPECT_EQ(shape(first).shared_executed_bytes, 135168u);
  const Execution& node = sink_.executions[2];
  EXPECT_EQ(node.graph_id, 5u);
  EXPECT_EQ(node.graph_node_id, 4294967300u);
  EXPECT_EQ(shape(node).cluster, (std::array<uint32_t, 3>{}));  // 1 × 1 × 1 is none
  EXPECT_EQ(sink_.executions[3].shape, first.shape);
  EXPECT_TRUE(sink_.losses.size() == 3 && lost(LossKind::cupti_dropped) == 17 && lost(LossKind::unmatched) == 1);
}

TEST_F(Nsys, TheStartOfTheSessionIsUnixTime) {
  const std::string table = "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);";
  read("nsys_3_25.sql",
       table + "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1754324972242076786, '2025-08-04T16:29:32')");
  EXPECT_EQ(sink_.meta.at("import.base_time_ns"), "1754324972242076786");
  EXPECT_EQ(sink_.executions.at(0).start_ns, 1000);
  for (const char* row : {"", "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (NULL, NULL)",
                          "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (-5, NULL)",
                          "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ('today', NULL)"}) {
    read("nsys_3_25.sql", table + row);
    EXPECT_FALSE(sink_.meta.contains("import.base_time_ns")) << row;
  }
}

TEST_F(Nsys, TwoProcessesMeanTwoGpusByTheSameOrdinal) {
  read("nsys_3_25.sql");
  const Execution &first = sink_.executions[0], &other = sink_.executions[3];
  ASSERT_NE(first.device, other.device);
  ASSERT_NE(first.process, other.process);
  std::map<uint32_t, Device> devices;  // the last word of each
  for (const Device& device : sink_.devices) {
    devices[device.id.value] = device;
  }
  ASSERT_EQ(devices.size(), 2u);
  const Device& device = devices[other.device.value];
  EXPECT_EQ(device.uuid[0], 0xff);
  EXPECT_EQ(device.uuid[15], 0x00);
  EXPECT_EQ(devices[first.device.value].uuid[15], 0xff);
  EXPECT_EQ(sink_.text(device.name), "NVIDIA H100");
  EXPECT_EQ(device.multiprocessors, 132u);
  EXPECT_EQ(device.compute_major, 9u);
  EXPECT_EQ(device.max_warps_per_multiprocessor, 64u);
  EXPECT_EQ(device.max_shared_bytes_per_block, 232448u);  // the opt-in limit
  EXPECT_EQ(device.max_shared_bytes_per_multiprocessor, 233472u);
  EXPECT_EQ(device.memory_bandwidth_bytes_per_s, 3352320000000u);
  std::map<uint32_t, Process> processes;
  for (const Process& process : sink_.processes) {
    processes[process.id.value] = process;
  }
  ASSERT_EQ(processes.size(), 2u);  // init did nothing
  EXPECT_EQ(processes[other.process.value].pid, 200);
  EXPECT_EQ(sink_.text(processes[other.process.value].name), "helper");
  ASSERT_EQ(sink_.contexts.size(), 2u);
  EXPECT_EQ(sink_.contexts[1].device, other.device);
  EXPECT_TRUE(sink_.contexts[1].green);
  EXPECT_EQ(sink_.contexts[1].parent_context_id, 1u);
}

TEST_F(Nsys, ACallThatIsRecordedAtRuntimeAndDriverIsCountedOnce) {
  read("nsys_3_25.sql");
  using Row = std::tuple<int32_t, ApiKind, uint32_t, int64_t, int64_t, int32_t>;
  std::vector<Row> rows;
  for (const ApiCall& call : sink_.api_calls) {
    EXPECT_EQ(call.source, Source::imported);
    rows.emplace_back(call.thread_id, call.kind, call.correlation_id, call.start_ns, call.end_ns, call.result);
  }
  EXPECT_EQ(rows, (std::vector<Row>{{100, ApiKind::launch_kernel, 101, 700, 900, 0},
                                    {100, ApiKind::launch_graph, 102, 920, 960, 0},
                                    {100, ApiKind::copy_async, 103, 980, 990, 0},
                                    {100, ApiKind::synchronize_stream, 907, 1100, 5000, 0},
                                    {100, ApiKind::synchronize_copy, 104, 5900, 6200, 0},
                                    {201, ApiKind::launch_kernel, 201, 4800, 4950, 700}}));
}

TEST_F(Nsys, ACallInsideAnotherWithWorkOfItsOwnIsTwo) {
  read(
      "nsys_3_25.sql",
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (860, 870, 1, 281476654432356, 105, 11, 0, NULL)");  // the memset's id
  ASSERT_EQ(sink_.api_calls.size(), 7u);
  EXPECT_EQ(sink_.api_calls[0].correlation_id, 101u);
  EXPECT_EQ(sink_.api_calls[1].correlation_id, 105u);
}

TEST_F(Nsys, CopiesRangesAndOffCpuTimes) {
  read("nsys_3_25.sql");
  ASSERT_EQ(sink_.transfers.size(), 3u);
  EXPECT_EQ(sink_.transfers[0].kind, TransferKind::host_to_device);
  EXPECT_EQ(sink_.transfers[0].bytes, 4096u);
  EXPECT_EQ(sink_.transfers[1].kind, TransferKind::peer);
  EXPECT_EQ(sink_.transfers[2].kind, TransferKind::memset);
  ASSERT_EQ(sink_.ranges.size(), 2u);
  EXPECT_EQ(sink_.text(sink_.ranges[0].name), "step 1");
  EXPECT_EQ(sink_.text(sink_.ranges[0].domain), "");
  EXPECT_EQ(sink_.text(sink_.ranges[1].name), "epoch");
  EXPECT_EQ(sink_.text(sink_.ranges[1].domain), "training");
  EXPECT_EQ(sink_.ranges[1].start_ns, 5200);
  EXPECT_EQ(sink_.ranges[1].end_ns, 6300);
  ASSERT_EQ(sink_.off_cpu.size(), 2u);
  EXPECT_EQ(sink_.off_cpu[0].reason, OffCpuReason::unexplained);
  EXPECT_EQ(sink_.off_cpu[0].start_ns, 1200);
  EXPECT_EQ(sink_.off_cpu[0].end_ns, 1900);
  EXPECT_EQ(sink_.off_cpu[0].wake_ns, 1900);
  EXPECT_EQ(sink_.off_cpu[0].cpu, 2u);
  EXPECT_EQ(sink_.off_cpu[1].reason, OffCpuReason::preempted);
  EXPECT_EQ(sink_.off_cpu[1].wake_ns, 2000);
}

TEST_F(Nsys, SaysWhereItComesFromAndWhatIsMissing) {
  read("nsys_3_25.sql");
  EXPECT_EQ(sink_.meta["tier"], "imported");
  EXPECT_EQ(sink_.meta["import.version"], "2026.2.1.210 (export schema 3.25.0)");
  EXPECT_EQ(sink_.meta["command"], "python train.py --fast");
  EXPECT_EQ(sink_.meta["hostname"], "node7");
  EXPECT_EQ(sink_.meta["driver_version"], "580.95.05");
  EXPECT_EQ(sink_.meta["overhead.profiler_ns"], "400");  // compiling is CUDA's own
  EXPECT_EQ(sink_.meta["import.message.1"], "17 CUDA events were dropped.");
  EXPECT_FALSE(sink_.meta.contains("import.message.2")) << "OpenGL is nobody's business here";
  EXPECT_FALSE(sink_.meta.contains("source.sched"));
  EXPECT_FALSE(sink_.meta.contains("source.graph_nodes"));
  ASSERT_FALSE(sink_.clock_mappings.empty());
  EXPECT_EQ(sink_.clock_mappings[0].source, ClockSource::imported);
  EXPECT_EQ(sink_.clock_mappings[0].offset_ns, 0);
}

TEST_F(Nsys, MetricsBecomeSamplesOfTheDevice) {
  read("nsys_3_25.sql");
  ASSERT_EQ(sink_.samples.size(), 4u);
  const Sample &first = sink_.samples[0], &second = sink_.samples[1], &after_gap = sink_.samples[2];
  EXPECT_EQ(first.device, sink_.executions[0].device);
  EXPECT_EQ(first.start_ns, 1000);  // as long as the others
  EXPECT_EQ(first.end_ns, 1100);
  EXPECT_DOUBLE_EQ(*first.cycles_elapsed, 100);
  EXPECT_DOUBLE_EQ(*first.sm_active_cycles, 0.5 * 100 * 132);
  EXPECT_DOUBLE_EQ(*first.warp_cycles, 0.25 * 100 * 132 * 64);
  EXPECT_DOUBLE_EQ(*first.dram_read_bytes, 0.1 * 3352320000000 * 1e-7);
  EXPECT_DOUBLE_EQ(*first.dram_write_bytes, 0);
  EXPECT_EQ(second.start_ns, 1100);
  EXPECT_DOUBLE_EQ(*second.cycles_elapsed, 200);
  EXPECT_FALSE(second.warp_cycles);  // 101%
  EXPECT_FALSE(second.dram_read_bytes);
  EXPECT_EQ(after_gap.start_ns, 1600);
  EXPECT_EQ(lost(LossKind::unknown_record), 1u);
  EXPECT_EQ(sink_.meta["counters.mode"], "imported");
  EXPECT_EQ(sink_.meta["counters.status"], "ok");
  EXPECT_EQ(sink_.meta["counters.interval_ns"], "100");
  // Kernels' figures need a verified clock, and nobody has verified this one.
  ASSERT_EQ(sink_.clock_mappings.size(), 2u);
  EXPECT_EQ(sink_.clock_mappings[1].source, ClockSource::counters);
  EXPECT_FALSE(sink_.clock_mappings[1].residual_ns);
}

TEST_F(Nsys, MetricsOfAGpuThatTheFileDoesNotDescribeAreNone) {
  read("nsys_3_25.sql", "DROP TABLE TARGET_INFO_GPU");
  EXPECT_TRUE(sink_.samples.empty());
  EXPECT_EQ(sink_.meta["counters.mode"], "off");
  EXPECT_NE(sink_.meta["counters.status"].find("name none of its GPUs"), std::string::npos);
}

TEST_F(Nsys, CollectivesWithoutTheirCallsAreSaid) {
  read("nsys_3_0.sql", "UPDATE StringIds SET value = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL' WHERE id = 2");
  EXPECT_EQ(sink_.meta["source.nccl"], "the file holds no NCCL calls");
  read("nsys_3_25.sql",
       "UPDATE StringIds SET value = 'ncclDevKernel_SendRecv' WHERE id = 4;"
       "UPDATE StringIds SET value = 'ncclSend' WHERE id = 20");
  EXPECT_NE(sink_.meta["source.nccl"].find("NVTX ranges"), std::string::npos);
}

TEST_F(Nsys, AnOldFileWithFewTablesAndColumns) {
  read("nsys_3_0.sql");
  ASSERT_EQ(sink_.executions.size(), 2u);
  EXPECT_EQ(sink_.text(shape(sink_.executions[0]).name), "void scale<float>(float*, int)");
  EXPECT_EQ(shape(sink_.executions[0]).dynamic_shared_bytes, 256u);
  EXPECT_EQ(shape(sink_.executions[0]).shared_executed_bytes, 0u);
  EXPECT_EQ(sink_.api_calls.size(), 2u);
  EXPECT_EQ(sink_.meta["import.version"], "2023.1.1.127 (export schema 3.0.0)");
  const std::map<std::string, std::string> flags = {{"source.sched.advice", "--cpuctxsw=process-tree"},
                                                    {"source.nvtx.advice", "--trace=cuda,nvtx"},
                                                    {"counters.advice", "--gpu-metrics-devices=all"}};
  for (const auto& [key, flag] : flags) {
    EXPECT_NE(sink_.meta[key].find(flag), std::string::npos) << key;
  }
  EXPECT_TRUE(sink_.losses.empty());
}

constexpr const char* graph_table =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, graphId INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (100, 1000100, 1), (2000000, 4000000, 1);";

TEST_F(Nsys, WholeGraphsHideKernelsAndTheFlagIsNamed) {
  read("nsys_3_0.sql", graph_table);
  EXPECT_NE(sink_.meta["source.graph_nodes"].find("2 CUDA graph launches (3 ms)"), std::string::npos)
      << sink_.meta["source.graph_nodes"];
  EXPECT_NE(sink_.meta["source.graph_nodes.advice"].find("--cuda-graph-trace=node"), std::string::npos);
  EXPECT_EQ(sink_.executions.size(), 2u);
}

TEST_F(Nsys, GraphLaunchesWithoutAnythingOfThemAreSaidToo) {
  read("nsys_3_0.sql", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 12 WHERE correlationId = 6");
  EXPECT_NE(sink_.meta["source.graph_nodes"].find("1 CUDA graph"), std::string::npos);
}

TEST_F(Nsys, AFileWithoutKernelsIsRefusedWithTheReason) {
  write("nsys_3_0.sql", "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL");
  expect_refused("holds no kernels");
  write("nsys_3_0.sql", "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
  expect_refused("holds no kernels");
  write("nsys_3_0.sql", std::string(graph_table) + "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL");
  expect_refused("2 CUDA graph launches are recorded as wholes");
  expect_refused("--cuda-graph-trace=node");
}

TEST_F(Nsys, TimesThatAreNoneAreSetAsideAndCounted) {
  read(
      "nsys_3_25.sql",
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1000000000000000000, 1000000000000000100, deviceId, contextId, "
      "NULL, "
      "streamId, 0, globalPid, 2, 3, 1, 1,1,1,1,1,1,1,0,0,0,0,NULL,0,0,0,0,0 FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1;"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 3000, 2000, deviceId, contextId, NULL, streamId, 0, globalPid, 2, "
      "3, 1, "
      "1,1,1,1,1,1,1,0,0,0,0,NULL,0,0,0,0,0 FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1;"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 0, 0, deviceId, contextId, NULL, streamId, 0, globalPid, 2, 3, 1, "
      "1,1,1,1,1,1,1,0,0,0,0,NULL,0,0,0,0,0 FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1;"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT -9223372036854775808, 9223372036854775807, deviceId, contextId, "
      "NULL, "
      "streamId, 0, globalPid, 2, 3, 1, 1,1,1,1,1,1,1,0,0,0,0,NULL,0,0,0,0,0 FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1;"
      "UPDATE NVTX_EVENTS SET start = 9223372036854775807 WHERE text = 'step 1'");
  EXPECT_EQ(sink_.executions.size(), 4u);
  EXPECT_EQ(lost(LossKind::bad_time), 5u);
}

TEST_F(Nsys, TimesSince1970AreTimes) {
  constexpr const char* later = " SET start = start + 1780000000000000000, end = end + 1780000000000000000;";
  read("nsys_3_0.sql",
       std::string("UPDATE CUPTI_ACTIVITY_KIND_KERNEL") + later + "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME" + later);
  ASSERT_EQ(sink_.executions.size(), 2u);
  EXPECT_EQ(sink_.executions[0].start_ns, 1780000000000010000);
  EXPECT_TRUE(sink_.losses.empty());
}

TEST_F(Nsys, AKernelWithoutANameKeepsItsTime) {
  read("nsys_3_0.sql", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 9223372036854775807, shortName = -1");
  ASSERT_EQ(sink_.executions.size(), 2u);
  EXPECT_NE(sink_.text(shape(sink_.executions[0]).name).find("without a name"), std::string::npos);
  EXPECT_EQ(lost(LossKind::unjoined), 2u);
}

TEST_F(Nsys, ValuesThatDoNotFitAreCountedNotCut) {
  read("nsys_3_25.sql",
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 4294967303 WHERE correlationId = 101;"
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = -1 WHERE correlationId = 201;"
       "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = 4294967296 WHERE graphNodeId = 4294967299;"
       "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = -5, copyKind = 99");
  ASSERT_EQ(sink_.executions.size(), 2u);
  EXPECT_EQ(lost(LossKind::unknown_record), 3u);  // and the metric of 101%
  EXPECT_EQ(shape(sink_.executions[0]).grid[0], 0u);  // unknown
  EXPECT_EQ(sink_.transfers[0].bytes, 0u);
  EXPECT_EQ(sink_.transfers[0].kind, TransferKind::other);
}

TEST_F(Nsys, LongAndInvalidNamesArrive) {
  read("nsys_3_0.sql",
       "UPDATE StringIds SET value = CAST(x'fe' || zeroblob(3) || x'1b5b' AS TEXT) || printf('%.*c', 100000, 'x') "
       "WHERE id = 2");
  EXPECT_GE(sink_.text(shape(sink_.executions[0]).name).size(), 100000u);
}

// The table of kernels without its constraints.
constexpr const char* loose =
    "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO old; CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM "
    "old; "
    "DROP TABLE old; UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET ";

TEST_F(Nsys, KernelsThatCannotBeReadAreRefusedWithTheReason) {
  for (const char* column : {"start", "end", "deviceId", "contextId", "streamId"}) {
    write("nsys_3_0.sql", std::string("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN ") + column + " TO other");
    expect_refused(std::string("it has no column ") + column);
  }
  write("nsys_3_0.sql", std::string(loose) + "start = NULL");
  expect_refused(
      "2 rows in table CUPTI_ACTIVITY_KIND_KERNEL, of which none could be read: 2, they have no start or no end");
  write("nsys_3_0.sql", std::string(loose) + "start = 0, end = 0");
  expect_refused("2, their start and end are 0");
  write("nsys_3_0.sql", std::string(loose) + "end = start - 1 WHERE correlationId = 5;" +
                            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = -1 WHERE correlationId = 6");
  expect_refused("1, they end before they start");
  expect_refused("1, their deviceId is absent or out of range");
}

TEST_F(Nsys, KernelsThatNameNoProcessAreOfTheOnlyOne) {
  const std::string rename = "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN globalPid TO other;";
  read("nsys_3_0.sql", rename);
  ASSERT_EQ(sink_.executions.size(), 2u);
  ASSERT_FALSE(sink_.api_calls.empty());
  EXPECT_EQ(sink_.executions[0].process, sink_.api_calls[0].process);
  for (const Process& process : sink_.processes) {
    EXPECT_EQ(process.pid, 300);
  }
  EXPECT_EQ(lost(LossKind::unknown_record), 0u);
  write("nsys_3_25.sql", rename);
  expect_refused("4, they cannot be told apart by process");
}

TEST_F(Nsys, WithOneAxisUnknownTheGridIs) {
  read("nsys_3_0.sql", std::string(loose) + "gridX = NULL WHERE correlationId = 5");
  ASSERT_EQ(sink_.executions.size(), 2u);
  EXPECT_EQ(shape(sink_.executions[0]).grid, (std::array<uint32_t, 3>{}));
  EXPECT_EQ(shape(sink_.executions[0]).block, (std::array<uint32_t, 3>{64, 1, 1}));
  EXPECT_EQ(shape(sink_.executions[1]).grid, (std::array<uint32_t, 3>{10, 1, 1}));
}

TEST_F(Nsys, WhatNsightSystemsNeverWritesIsRefused) {
  write("nsys_3_0.sql", "CREATE VIEW v AS SELECT 1");
  expect_refused("holds a view 'v'");
  write("nsys_3_0.sql", "CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN SELECT 1; END");
  expect_refused("holds a trigger 't'");
  write("nsys_3_0.sql", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 'late' WHERE correlationId = 6");
  expect_refused("table CUPTI_ACTIVITY_KIND_KERNEL, row 1: end");
  write("nsys_3_0.sql", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = x'00'");
  expect_refused("globalTid");
  write("nsys_3_0.sql", "DROP TABLE StringIds");
  expect_refused("StringIds is missing");
  write("nsys_3_0.sql", "DROP TABLE StringIds; DROP TABLE EXPORT_META_DATA");
  expect_refused("neither a capture nor an export");
}

TEST_F(Nsys, ATruncatedFileIsRefused) {
  write("nsys_3_25.sql");
  ASSERT_EQ(::truncate(path_.c_str(), 4096), 0);
  expect_refused("truncated");
  ASSERT_EQ(::truncate(path_.c_str(), 90), 0);
  expect_refused("truncated");
}

TEST_F(Nsys, AFileThatSomebodyWritesIsRefused) {
  write("nsys_3_0.sql");
  std::ofstream{path_ + "-journal"} << "x";
  expect_refused("another program is writing");
  std::remove((path_ + "-journal").c_str());
}

TEST_F(Nsys, SeveralFilesKeepClocksProcessesAndDevicesApart) {
  write("nsys_3_0.sql");
  const auto done = import_nsys({path_, path_}, sink_);
  ASSERT_TRUE(done) << done.error().message();
  ASSERT_EQ(sink_.executions.size(), 4u);
  // The first event of each is the launch at 9000.
  EXPECT_EQ(sink_.executions[0].start_ns, 1000);
  EXPECT_EQ(sink_.executions[2].start_ns, 1000);
  EXPECT_NE(sink_.executions[0].process, sink_.executions[2].process);
  EXPECT_NE(sink_.meta["import.clock"].find("of its own"), std::string::npos);
}

}  // namespace
}  // namespace kvet::importing
