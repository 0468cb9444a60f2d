// The documented queries of docs/queries/, run by SQLite alone on a small capture whose answers were worked out by hand.
#include <gtest/gtest.h>

#include "database/sqlite.h"
#include "store/documented_queries.h"
#include "store/reader.h"
#include "store/test_support.h"
#include "store/views.h"
#include "store/writer.h"

namespace kvet::store {

using database::DatabaseHandle;
using database::open_database;
using database::StatementHandle;

namespace {

using Rows = std::vector<std::string>;

// Each row as "column=value" words.
Rows run(sqlite3* database, const std::string& sql, const char* kernel) {
  Rows rows;
  for (const char* at = sql.c_str(); *at != '\0';) {
    sqlite3_stmt* raw = nullptr;
    const char* tail = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, at, -1, &raw, &tail), SQLITE_OK) << sqlite3_errmsg(database);
    const StatementHandle statement{raw};
    if (tail == at) {
      break;
    }
    at = tail;
    if (raw == nullptr) {
      continue;
    }
    if (const int index = sqlite3_bind_parameter_index(raw, ":kernel"); index > 0) {
      sqlite3_bind_text(raw, index, kernel, -1, SQLITE_STATIC);
    }
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
      std::string row;
      for (int i = 0; i < sqlite3_column_count(raw); ++i) {
        const unsigned char* value = sqlite3_column_text(raw, i);
        row += (row.empty() ? "" : " ") + std::string{sqlite3_column_name(raw, i)} + "=" +
               (value == nullptr ? "NULL" : std::string{value, value + sqlite3_column_bytes(raw, i)});
      }
      rows.push_back(row);
    }
    EXPECT_EQ(code, SQLITE_DONE) << sqlite3_errmsg(database);
  }
  return rows;
}

class Queries : public testing::Test {
 protected:
  static constexpr int64_t activity_offset = 1000, counters_offset = 900;

  void SetUp() override {
    path_ = fresh_path("queries.kvet");
    auto writer = CaptureWriter::create(path_);
    ASSERT_TRUE(writer) << writer.error().message();
    sink_ = std::move(*writer);
    plant();
    auto finished = sink_->finish();
    ASSERT_TRUE(finished) << finished.error().message();
    auto database = open_database(path_, SQLITE_OPEN_READONLY, path_, ErrorKind::internal);
    ASSERT_TRUE(database);
    database_ = std::move(*database);
    run(database_.get(), read_bytes(KVET_SOURCE_DIR "/docs/queries/views.sql"), "");
  }

  Rows query(const std::string& name, const char* kernel = "%") {
    return run(database_.get(), read_bytes(KVET_SOURCE_DIR "/docs/queries/" + name + ".sql"), kernel);
  }

  // Times here are CLOCK_MONOTONIC; the file gets the raw ones. The second piece of the activity clock begins at raw 4000.
  static int64_t raw_activity(int64_t time) { return time - activity_offset - (time >= 5000 ? 7 : 0); }

  void launch(uint32_t process, int32_t thread, uint32_t correlation, int64_t from, int64_t to) {
    ApiCall call;
    call.process = {process};
    call.thread_id = thread;
    call.correlation_id = correlation;
    call.start_ns = raw_activity(from);
    call.end_ns = raw_activity(to);
    sink_->on(call);
  }
  void execute(uint32_t process, uint32_t device, uint32_t shape, uint32_t stream, uint32_t correlation, int64_t from,
               int64_t to) {
    Execution execution;
    execution.process = {process};
    execution.device = {device};
    execution.shape = {shape};
    execution.context_id = 1;
    execution.stream_id = stream;
    execution.correlation_id = correlation;
    execution.start_ns = raw_activity(from);
    execution.end_ns = raw_activity(to);
    sink_->on(execution);
  }
  void sample(int64_t from, int64_t to, double read, double write) {
    Sample sample;
    sample.start_ns = from - counters_offset;
    sample.end_ns = to - counters_offset;
    sample.dram_read_bytes = read;
    sample.dram_write_bytes = write;
    sink_->on(sample);
  }
  void off_cpu(int32_t thread, OffCpuReason reason, int64_t from, int64_t wake, int64_t to) {
    OffCpu off;
    off.thread_id = thread;
    off.reason = reason;
    off.start_ns = from;
    off.wake_ns = wake;
    off.end_ns = to;
    sink_->on(off);
  }
  void collective(uint32_t process, int32_t thread, int64_t from, int64_t to) {
    CollectiveCall call;
    call.process = {process};
    call.thread_id = thread;
    call.communicator = 0xf000000000000000u + process;
    call.start_ns = from;
    call.end_ns = to;
    sink_->on(call);
  }

  void plant() {
    for (uint32_t id = 0; id < 3; ++id) {
      Process process;
      process.id = {id};
      sink_->on(process);
    }
    for (uint32_t id = 0; id < 2; ++id) {
      Device device;
      device.id = {id};
      sink_->on(device);
    }
    uint32_t shapes = 0;
    for (const char* name : {"k_norm", "s_gemm", "p_next", "nccl_all_reduce"}) {
      KernelShape shape;
      shape.id = {shapes++};
      shape.name = sink_->intern(name);
      sink_->on(shape);
    }
    sink_->on(ClockMapping{ClockSource::activity, {}, 0, activity_offset, 0, 100, {}, {}, {}});
    sink_->on(ClockMapping{ClockSource::activity, {}, 3993, activity_offset + 7, 0, 100, {}, {}, {}});
    sink_->on(ClockMapping{ClockSource::counters, DeviceId{0}, 0, counters_offset, 0, 100, {}, {}, {}});

    // K, stream 7: [2000, 2100) and [2200, 2300). A sibling on stream 8: [2060, 2160). A successor in K's own stream that
    // begins early, [2290, 2350), is no sibling.
    launch(0, 100, 1, 1900, 1950);
    execute(0, 0, 0, 7, 1, 2000, 2100);
    launch(0, 100, 4, 1960, 1970);
    execute(0, 0, 1, 8, 4, 2060, 2160);
    launch(0, 100, 2, 2105, 2150);  // returns 50 ns after its predecessor in the stream ended
    execute(0, 0, 0, 7, 2, 2200, 2300);
    launch(0, 100, 3, 2160, 2170);
    execute(0, 0, 2, 7, 3, 2290, 2350);

    sample(2000, 2100, 1000, 500);
    sample(2100, 2200, 9999, 9999);
    sample(2200, 2300, 3000, 500);

    off_cpu(100, OffCpuReason::futex, 10, 40, 50);
    off_cpu(100, OffCpuReason::preempted, 100, 100, 125);
    off_cpu(100, OffCpuReason::futex, 200, 255, 260);
    off_cpu(101, OffCpuReason::sleep, 0, 900, 901);  // launches nothing

    for (uint32_t rank = 0; rank < 2; ++rank) {
      Communicator communicator;
      communicator.process = {rank + 1};
      communicator.communicator = 0xf000000000000000u + rank + 1;
      communicator.rank = static_cast<int32_t>(rank);
      communicator.ranks = 2;
      communicator.unique_id = sink_->intern("ab");
      sink_->on(communicator);
    }
    sink_->on(
        Loss{.source = Source::cupti, .kind = LossKind::cupti_dropped, .count = 5, .first_ns = 10, .last_ns = 90});
    sink_->on(Loss{.source = Source::cupti, .kind = LossKind::cupti_dropped, .count = 7, .first_ns = 3, .last_ns = 20});
    sink_->on(Loss{.source = Source::scheduler, .kind = LossKind::ring_full, .process = ProcessId{1}, .count = 1});
    // First collective: rank 0 is there at 5100, rank 1 at 5300. Second: rank 1 at 5990, rank 0 at 6000.
    collective(1, 200, 5000, 5010);
    launch(1, 200, 1, 5002, 5004);
    execute(1, 0, 3, 9, 1, 5100, 5400);
    collective(2, 300, 5200, 5210);
    launch(2, 300, 1, 5202, 5204);
    execute(2, 1, 3, 9, 1, 5300, 5400);
    launch(1, 200, 2, 5500, 5510);  // between the collectives: belongs to neither
    execute(1, 0, 1, 3, 2, 5520, 5530);
    collective(1, 200, 5900, 5910);
    launch(1, 200, 3, 5902, 5904);
    execute(1, 0, 3, 9, 3, 6000, 6200);
    collective(2, 300, 5950, 5960);
    launch(2, 300, 2, 5952, 5954);
    execute(2, 1, 3, 9, 2, 5990, 6100);
  }

  std::string path_;
  std::unique_ptr<CaptureWriter> sink_;
  DatabaseHandle database_;
};

TEST_F(Queries, Occupancy) {
  EXPECT_EQ(query("occupancy", "%norm%"), (Rows{"device_id=0 process_id=0 stream_id=7 solo_ns=160 corun_ns=40"}));
}

TEST_F(Queries, Dram) {
  // (1000 + 3000) B ÷ 200 ns and (500 + 500) B ÷ 200 ns.
  EXPECT_EQ(query("dram", "k_norm"),
            (Rows{"device_id=0 sampled_ns=200 read_bytes_per_s=20000000000.0 write_bytes_per_s=5000000000.0"}));
}

TEST_F(Queries, OffCpu) {
  EXPECT_EQ(query("off_cpu"), (Rows{"process_id=0 thread_id=100 reason=futex times=2 blocked_ns=85 waiting_ns=15",
                                    "process_id=0 thread_id=100 reason=preempted times=1 blocked_ns=0 waiting_ns=25"}));
}

TEST_F(Queries, Starvation) {
  // Rank 0's second collective: predecessor ended at 5400, call returned at 5904: 504. Rank 1's: 5954 − 5400 = 554.
  EXPECT_EQ(query("starvation"), (Rows{"device_id=0 process_id=0 stream_id=7 launches=2 late=1 starved_ns=50",
                                       "device_id=0 process_id=1 stream_id=9 launches=1 late=1 starved_ns=504",
                                       "device_id=1 process_id=2 stream_id=9 launches=1 late=1 starved_ns=554"}));
}

TEST_F(Queries, Nccl) {
  Rows rows = query("nccl");
  for (std::string& row : rows) {
    row = row.substr(row.find(' ') + 1);  // the communicator's string id is of no interest
  }
  EXPECT_EQ(rows, (Rows{"number=1 kind=all_reduce rank=0 arrival_wait_ns=200 straggler=0",
                        "number=1 kind=all_reduce rank=1 arrival_wait_ns=0 straggler=1",
                        "number=2 kind=all_reduce rank=0 arrival_wait_ns=0 straggler=1",
                        "number=2 kind=all_reduce rank=1 arrival_wait_ns=10 straggler=0"}));
}

TEST_F(Queries, Kernels) {
  EXPECT_EQ(query("kernels", "%norm"),
            (Rows{"device_id=0 name=k_norm executions=2 time_ns=200 shortest_ns=100 mean_ns=100 "
                  "longest_ns=100 streams=1"}));
  // Rank 0's two collectives take 300 and 200 ns on device 0, rank 1's 100 and 110 on device 1.
  const Rows all = query("kernels", "nccl%");
  EXPECT_EQ(all, (Rows{"device_id=0 name=nccl_all_reduce executions=2 time_ns=500 shortest_ns=200 mean_ns=250 "
                       "longest_ns=300 streams=1",
                       "device_id=1 name=nccl_all_reduce executions=2 time_ns=210 shortest_ns=100 mean_ns=105 "
                       "longest_ns=110 streams=1"}));
}

TEST_F(Queries, Losses) {
  EXPECT_EQ(query("losses"), (Rows{"source=cupti kind=cupti_dropped process_id=NULL lost=12 first_ns=3 last_ns=90",
                                   "source=scheduler kind=ring_full process_id=1 lost=1 first_ns=NULL last_ns=NULL"}));
}

TEST_F(Queries, EveryViewCanBeReadAndHasTheColumnsThatItIsSaidToHave) {
  for (const View& view : views()) {
    sqlite3_stmt* raw = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(database_.get(), ("SELECT * FROM " + view.name).c_str(), -1, &raw, nullptr), SQLITE_OK)
        << view.name << ": " << sqlite3_errmsg(database_.get());
    const StatementHandle statement{raw};
    ASSERT_EQ(sqlite3_column_count(raw), static_cast<int>(view.columns.size())) << view.name;
    for (size_t i = 0; i < view.columns.size(); ++i) {
      EXPECT_EQ(sqlite3_column_name(raw, static_cast<int>(i)), view.columns[i].name) << view.name;
      EXPECT_FALSE(view.columns[i].prose.empty()) << view.name << "." << view.columns[i].name;
    }
  }
}

TEST(DocumentedQueries, SayWhatTheyAnswerAndWhatTheyWant) {
  const DocumentedQuery query{"x", "-- What is\n-- this? :not\nSELECT :kernel, 'a:b', :kernel, :other_one\n"};
  EXPECT_EQ(prose_of(query), "What is this? :not");
  EXPECT_EQ(parameters_of(query), (std::vector<std::string>{"kernel", "b", "other_one"}));
  for (const DocumentedQuery& each : documented_queries()) {
    EXPECT_FALSE(prose_of(each).empty()) << each.name;
  }
}

// The views and the reader map times alike.
TEST_F(Queries, ViewsAgreeWithTheReader) {
  auto capture = read_capture(path_);
  ASSERT_TRUE(capture) << capture.error().message();
  const Rows rows = run(database_.get(), "SELECT start_ns, end_ns FROM executions ORDER BY start_ns", "");
  ASSERT_EQ(rows.size(), capture->executions.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i], "start_ns=" + std::to_string(capture->executions[i].start_ns) +
                           " end_ns=" + std::to_string(capture->executions[i].end_ns));
  }
  EXPECT_EQ(run(database_.get(), "SELECT count(*) AS n, min(start_ns) AS first FROM samples", ""),
            (Rows{"n=3 first=2000"}));
}

}  // namespace
}  // namespace kvet::store
