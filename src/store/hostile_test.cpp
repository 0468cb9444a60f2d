// Files that are damaged, foreign or made to do harm: one clear message each, and never a crash.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <random>

#include "database/sqlite.h"
#include "store/reader.h"
#include "store/schema.h"
#include "store/test_support.h"
#include "store/writer.h"

namespace kvet::store {

using database::execute;
using database::open_database;
using database::prepare;

namespace {

// A small capture with a few rows of every kind.
std::string make_capture(const std::string& name, int executions = 300) {
  const std::string path = fresh_path(name);
  auto writer = CaptureWriter::create(path);
  EXPECT_TRUE(writer) << writer.error().message();
  CaptureWriter& sink = **writer;
  for (uint32_t id = 0; id < 3; ++id) {
    Process process;
    process.id = {id};
    process.name = sink.intern("process " + std::to_string(id));
    sink.on(process);
    Device device;
    device.id = {id};
    sink.on(device);
    KernelShape shape;
    shape.id = {id};
    shape.name = sink.intern("_Z6kernel" + std::to_string(id) + "v");
    sink.on(shape);
  }
  for (int i = 0; i < executions; ++i) {
    Execution execution;
    execution.shape = {static_cast<uint32_t>(i % 3)};
    execution.start_ns = 1'000'000 + i * 100;
    execution.end_ns = execution.start_ns + 70;
    sink.on(execution);
    Sample sample;
    sample.start_ns = execution.start_ns;
    sample.end_ns = execution.end_ns;
    sample.warp_cycles = i;
    sink.on(sample);
    OffCpu off;
    off.start_ns = off.wake_ns = execution.start_ns;
    off.end_ns = execution.end_ns;
    sink.on(off);
    ApiCall call;
    call.start_ns = call.end_ns = execution.start_ns;
    sink.on(call);
  }
  sink.on(Transfer{});
  sink.on(Range{});
  sink.on(CollectiveCall{});
  sink.on(Communicator{});
  sink.on(DeviceReading{});
  sink.on(Loss{});
  sink.on(ClockMapping{});
  sink.on(Meta{"tier", "full"});
  auto finished = sink.finish();
  EXPECT_TRUE(finished) << finished.error().message();
  return path;
}

std::string bad_input_message(const std::string& path) {
  auto capture = read_capture(path);
  EXPECT_FALSE(capture);
  if (capture) {
    return "";
  }
  EXPECT_EQ(capture.error().kind, ErrorKind::bad_input) << capture.error().message();
  EXPECT_EQ(capture.error().exit_status(), 65);
  EXPECT_EQ(capture.error().message().find('\n'), std::string::npos);
  EXPECT_NE(capture.error().message().find(path), std::string::npos) << "names the file";
  return capture.error().message();
}

void expect_message(const std::string& path, const std::string& part) {
  const std::string message = bad_input_message(path);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// Writes big-endian at an offset of the file's header.
void put(const std::string& path, size_t offset, uint32_t value) {
  std::string bytes = read_bytes(path);
  for (size_t i = 0; i < 4; ++i) {
    bytes[offset + i] = static_cast<char>(value >> (24 - 8 * i));
  }
  write_bytes(path, bytes);
}

TEST(Hostile, NotACapture) {
  const std::string path = fresh_path("not.kvet");
  expect_message(path, "No such file");
  write_bytes(path, "");
  expect_message(path, "empty");
  write_bytes(path, "ts,dur\n1,2\n");
  expect_message(path, "not a kvet capture");
  write_bytes(path, std::string(100'000, 'x'));
  expect_message(path, "not a kvet capture");
  expect_message(testing::TempDir(), "not a file");
  write_bytes(path, std::string("SQLite format 3\0", 16));
  expect_message(path, "truncated");
}

TEST(Hostile, OtherApplicationAndOtherVersions) {
  const std::string path = make_capture("version.kvet");
  put(path, 60, 3);
  // Both versions, and what to do.
  expect_message(path, "format version 3");
  expect_message(path, "reads version 2");
  expect_message(path, "newer kvet");
  put(path, 60, 0xffffffff);
  expect_message(path, "format version -1");
  put(path, 60, 1);
  expect_message(path, "format version 1");
  expect_message(path, "record again");
  put(path, 60, 2);
  put(path, 68, 0);
  expect_message(path, "not a kvet capture");
}

TEST(Hostile, TruncatedAnywhere) {
  const std::string path = make_capture("truncated.kvet");
  const std::string whole = read_bytes(path);
  for (size_t size = 1; size < whole.size(); size += 1 + whole.size() / 60) {
    write_bytes(path, whole.substr(0, size));
    const std::string message = bad_input_message(path);
    EXPECT_TRUE(size < 100 || message.find("truncated") != std::string::npos) << size << ' ' << message;
  }
  write_bytes(path, whole);
  EXPECT_TRUE(read_capture(path));
}

class Tampered : public testing::Test {
 protected:
  void SetUp() override {
    path_ = make_capture("tampered.kvet", 5);
    whole_ = read_bytes(path_);
  }
  // Runs SQL on a fresh copy, as somebody with all the powers of SQLite could, and expects the message to hold `part`.
  void tamper(const std::string& sql, const std::string& part) {
    write_bytes(path_, whole_);
    {
      auto database = open_database(path_, SQLITE_OPEN_READWRITE, path_, ErrorKind::internal);
      ASSERT_TRUE(database);
      sqlite3_db_config(database->get(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
      auto done = execute(database->get(), sql, path_, ErrorKind::internal);
      ASSERT_TRUE(done) << sql << ": " << done.error().message();
    }
    SCOPED_TRACE(sql);
    expect_message(path_, part);
  }
  std::string path_, whole_;
};

TEST_F(Tampered, NothingRunsByItself) {
  tamper("CREATE VIEW v AS SELECT 1", "holds a view");
  tamper("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM execution; END", "holds a trigger");
  tamper("DROP TABLE loss", "table loss is missing");
  tamper("DROP TABLE execution; CREATE TABLE execution(a)", "table execution is not the one");
  tamper("ALTER TABLE sample ADD COLUMN extra INTEGER", "table sample is not the one");
  tamper("DROP TABLE meta; CREATE VIRTUAL TABLE meta USING fts5(key, value)", "table meta is not the one");
}

TEST_F(Tampered, ValuesOutOfRange) {
  tamper("UPDATE execution SET shape_id = 3 WHERE rowid = 2",
         "table execution, row 1: shape_id refers to a row that is not there");
  tamper("UPDATE execution SET shape_id = -1", "shape_id is out of range");
  tamper("UPDATE execution SET process_id = 4294967296", "process_id is out of range");
  tamper("UPDATE execution SET duration_ns = -1", "duration_ns");
  tamper("UPDATE execution SET duration_ns = 9223372036854775807", "duration_ns");
  tamper("UPDATE execution SET start_ns = -9223372036854775807", "table execution, row 0");
  tamper("UPDATE off_cpu SET blocked_ns = duration_ns + 1", "blocked_ns lies outside");
  tamper("UPDATE off_cpu SET reason = 8", "reason is not one of the known kinds");
  tamper("UPDATE api_call SET kind = 255", "kind is not one of the known kinds");
  tamper("UPDATE api_call SET kind = 256", "kind is out of range");
  tamper("UPDATE api_call SET captured = 2", "captured is out of range");
  tamper("UPDATE sample SET warp_cycles = -1", "warp_cycles is negative");
  tamper("UPDATE sample SET warp_cycles = 9e999", "warp_cycles is negative or not a number");
  tamper("UPDATE loss SET lost_count = -1", "lost_count");
  tamper("UPDATE device SET uuid = x'00'", "uuid");
  tamper("UPDATE clock_mapping SET drift_ns_per_s = 1e9", "clock_mapping");
  tamper(
      "UPDATE clock_mapping SET source = 1, offset_ns = 4000000000000000000; UPDATE execution SET start_ns = "
      "3000000000000000000",
      "out of range");
  tamper("DELETE FROM process WHERE id = 1", "ids do not count from 0");
  tamper("DELETE FROM string WHERE id = 0", "ids do not count from 0");
  tamper("UPDATE string SET value = 'x' WHERE id = 0", "ids do not count from 0");
  tamper("INSERT INTO string SELECT 100, replace(hex(zeroblob(600000)), '0', 'x')", "");  // 1.2 MB of text
}

// Flips, overwrites and moves bytes: the answer is a capture or bad input, never a crash. The seed is fixed: what fails once
// fails again.
TEST(Hostile, MutatedBytesNeverCrash) {
  const std::string path = make_capture("mutated.kvet", 200);
  const std::string whole = read_bytes(path);
  std::mt19937_64 random{20240229};
  auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  int read = 0, refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    const size_t changes = 1 + below(8);
    for (size_t i = 0; i < changes; ++i) {
      // Half of them in the first bytes of a page, where the trees are.
      const size_t at = below(2) == 0 ? below(bytes.size()) : below(bytes.size() / 4096) * 4096 + below(64);
      switch (below(4)) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
        case 2: bytes[at] = below(2) == 0 ? '\0' : '\xff'; break;
        default:
          std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() - 64)),
                      std::min<size_t>(64, bytes.size() - at), bytes.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    write_bytes(path, bytes);
    auto capture = read_capture(path);
    if (capture) {
      ++read;
    } else {
      ++refused;
      ASSERT_EQ(capture.error().kind, ErrorKind::bad_input) << round << ' ' << capture.error().message();
    }
  }
  // Both happen, or the mutations are too weak or too strong to tell anything.
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

TEST(Hostile, AMutatedLogNeverCrashes) {
  const std::string path = fresh_path("log.kvet");
  std::string wal;
  {
    auto writer = CaptureWriter::create(path);
    ASSERT_TRUE(writer);
    (*writer)->on(Process{});
    (*writer)->on(Device{});
    (*writer)->on(KernelShape{});
    for (int i = 0; i < 500; ++i) {
      Execution execution;
      execution.start_ns = execution.end_ns = i;
      (*writer)->on(execution);
    }
    ASSERT_TRUE((*writer)->commit());
    wal = read_bytes(path + "-wal");
  }
  ASSERT_GT(wal.size(), 4096u);
  const std::string main = read_bytes(path);
  std::mt19937_64 random{7};
  for (int round = 0; round < 500; ++round) {
    remove_capture(path);
    write_bytes(path, main);
    std::string bytes = wal;
    for (int i = 0; i < 4; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    write_bytes(path + "-wal", bytes.substr(0, round % 3 == 0 ? random() % bytes.size() : bytes.size()));
    auto capture = read_capture(path);
    if (!capture) {
      ASSERT_EQ(capture.error().kind, ErrorKind::bad_input) << capture.error().message();
    }
  }
}

// An interior page of a table's tree whose children are all the same page (SQLite's file format, section 1.6: type 5, number of
// cells at 3, right-most child at 8, then cell pointers; a cell is a page number and a key).
std::string interior_page(uint32_t child, int cells) {
  std::string page(4096, '\0');
  auto put16 = [&](size_t at, int value) {
    page[at] = static_cast<char>(value >> 8);
    page[at + 1] = static_cast<char>(value);
  };
  auto put_child = [&](size_t at) {
    for (size_t i = 0; i < 4; ++i) {
      page[at + i] = static_cast<char>(child >> (24 - 8 * i));
    }
  };
  page[0] = 5;
  put16(3, cells);
  put_child(8);
  int content = 4096;
  for (int cell = 0; cell < cells; ++cell) {
    content -= 5;
    put16(12 + 2 * static_cast<size_t>(cell), content);
    put_child(static_cast<size_t>(content));
    page[static_cast<size_t>(content) + 4] = 1;
  }
  put16(5, content);
  return page;
}

// Three pages that would yield 500 × 500 × about 90 rows, 2 GB in memory: the file's size says that it cannot be.
TEST(Hostile, RowsBeyondTheSizeOfTheFile) {
  const std::string path = make_capture("bomb.kvet");
  std::string bytes = read_bytes(path);
  uint32_t root = 0;
  {
    auto database = open_database(path, SQLITE_OPEN_READONLY, path, ErrorKind::internal);
    ASSERT_TRUE(database);
    auto statement = prepare(database->get(), "SELECT rootpage FROM sqlite_schema WHERE name = 'execution'", path,
                             ErrorKind::internal);
    ASSERT_TRUE(statement);
    ASSERT_EQ(sqlite3_step(statement->get()), SQLITE_ROW);
    root = static_cast<uint32_t>(sqlite3_column_int(statement->get(), 0));
  }
  auto page_at = [](uint32_t page) { return size_t{page - 1} * 4096; };
  ASSERT_EQ(bytes[page_at(root)], 5) << "enough rows for a tree of two levels";
  auto child_at = [&](size_t at) {
    uint32_t child = 0;
    for (size_t i = 0; i < 4; ++i) {
      child = child << 8 | static_cast<unsigned char>(bytes[at + i]);
    }
    return child;
  };
  const uint32_t last = child_at(page_at(root) + 8);
  const size_t first_cell = page_at(root) + (size_t{static_cast<unsigned char>(bytes[page_at(root) + 12])} << 8 |
                                             static_cast<unsigned char>(bytes[page_at(root) + 13]));
  const uint32_t leaf = child_at(first_cell);
  ASSERT_NE(leaf, last);
  bytes.replace(page_at(last), 4096, interior_page(leaf, 500));
  bytes.replace(page_at(root), 4096, interior_page(last, 500));
  write_bytes(path, bytes);
  expect_message(path, "table execution claims more rows than the file can hold");
}

TEST(Hostile, ReadOnlyFolderWorks) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root, to become somebody who may not write";
  }
  const std::string folder = testing::TempDir() + std::to_string(::getpid()) + "_read_only";
  ASSERT_EQ(::mkdir(folder.c_str(), 0755), 0);
  const std::string path = folder + "/it's a 100% ?odd&name.kvet";
  const std::string made = make_capture("movable.kvet");
  write_bytes(path, read_bytes(made));
  // The same with a log beside it, which cannot be used there.
  const std::string logged = folder + "/logged.kvet";
  write_bytes(logged, read_bytes(made));
  {
    auto database = open_database(logged, SQLITE_OPEN_READWRITE, logged, ErrorKind::internal);
    ASSERT_TRUE(database);
    ASSERT_TRUE(execute(database->get(), "PRAGMA journal_mode=WAL; UPDATE meta SET value = 'device' WHERE key = 'tier'",
                        logged, ErrorKind::internal));
    write_bytes(folder + "/copy-wal", read_bytes(logged + "-wal"));
  }
  write_bytes(logged + "-wal", read_bytes(folder + "/copy-wal"));
  std::remove((folder + "/copy-wal").c_str());
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setegid(65534) != 0 || ::seteuid(65534) != 0) {
      ::_exit(9);
    }
    auto capture = read_capture(path);
    if (!capture || !capture->complete) {
      ::_exit(1);
    }
    auto with_log = read_capture(logged);
    ::_exit(!with_log && with_log.error().kind == ErrorKind::bad_input &&
                    with_log.error().message().find("copy the file together") != std::string::npos
                ? 0
                : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ::chmod(folder.c_str(), 0755);
  std::remove(path.c_str());
  remove_capture(logged);
  ::rmdir(folder.c_str());
}

}  // namespace
}  // namespace kvet::store
