#include "store/reader.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "database/sqlite.h"
#include "database/untrusted.h"
#include "store/clock.h"
#include "store/file_header.h"
#include "store/open_capture.h"
#include "store/rules.h"
#include "store/schema.h"

namespace kvet::store {

using database::DatabaseHandle;
using database::distrust;
using database::execute;
using database::open_database;
using database::prepare;
using database::sqlite_error;

namespace {

// Takes the columns of one row, in order, each with its storage class and width checked: STRICT binds honest writers only.
class Extractor {
 public:
  explicit Extractor(sqlite3_stmt* statement) : statement_(statement) {}

  [[nodiscard]] bool good() const { return bad_.empty(); }
  [[nodiscard]] std::string_view bad_column() const { return bad_; }

  template <class Tag>
  void reference(std::string_view name, Id<Tag>& id, std::string_view, std::string_view) {
    take(name, id.value);
  }
  template <class Tag>
  void reference(std::string_view name, std::optional<Id<Tag>>& id, std::string_view, std::string_view) {
    if (!skip_null()) {
      take(name, id.emplace().value);
    }
  }
  template <class T>
  void integer(std::string_view name, T& value, std::string_view) {
    take(name, value);
  }
  template <class T>
  void integer(std::string_view name, std::optional<T>& value, std::string_view) {
    if (!skip_null()) {
      take(name, value.emplace());
    }
  }
  void bits(std::string_view name, uint64_t& value, std::string_view) {
    int64_t stored = 0;
    take(name, stored);
    value = static_cast<uint64_t>(stored);
  }
  void real(std::string_view name, double& value, std::string_view) {
    if (sqlite3_column_type(statement_, index_) != SQLITE_FLOAT) {
      set_bad(name);
    }
    value = sqlite3_column_double(statement_, index_++);
  }
  void real(std::string_view name, std::optional<double>& value, std::string_view prose) {
    if (!skip_null()) {
      real(name, value.emplace(), prose);
    }
  }
  void signed_real(std::string_view name, double& value, std::string_view prose) { real(name, value, prose); }
  void boolean(std::string_view name, bool& value, std::string_view) {
    uint8_t stored = 0;
    take(name, stored);
    if (stored > 1) {
      set_bad(name);
    }
    value = stored == 1;
  }
  void text(std::string_view name, std::string& value, std::string_view) {
    if (sqlite3_column_type(statement_, index_) != SQLITE_TEXT) {
      set_bad(name);
      ++index_;
      return;
    }
    const unsigned char* bytes = sqlite3_column_text(statement_, index_);
    const int size = sqlite3_column_bytes(statement_, index_);
    if (bytes != nullptr) {
      value.assign(bytes, bytes + size);
    } else {
      set_bad(name);
    }
    ++index_;
  }
  template <class E>
  void enumeration(std::string_view name, E& value, std::string_view) {
    std::underlying_type_t<E> stored{};
    take(name, stored);
    value = static_cast<E>(stored);  // RowChecker knows which ones exist
  }
  void identifier(std::string_view name, std::array<uint8_t, 16>& value, std::string_view) {
    const void* bytes = sqlite3_column_blob(statement_, index_);
    if (bytes == nullptr || sqlite3_column_type(statement_, index_) != SQLITE_BLOB ||
        sqlite3_column_bytes(statement_, index_) != static_cast<int>(value.size())) {
      set_bad(name);
    } else {
      std::copy_n(static_cast<const uint8_t*>(bytes), value.size(), value.begin());
    }
    ++index_;
  }
  void time(std::string_view name, int64_t& value, std::string_view) { take(name, value); }
  void time(std::string_view name, std::optional<int64_t>& value, std::string_view prose) {
    integer(name, value, prose);
  }
  void interval(int64_t& start, int64_t& end, std::string_view) {
    int64_t duration = 0;
    take("start_ns", start);
    take("duration_ns", duration);
    if (!addable(start, duration)) {
      set_bad("duration_ns");
      return;
    }
    end = start + duration;
  }
  void within(std::string_view name, int64_t start, int64_t, int64_t& point, std::string_view) {
    int64_t distance = 0;
    take(name, distance);
    if (!addable(start, distance)) {
      set_bad(name);
      return;
    }
    point = start + distance;
  }
  void triple(std::string_view name, std::array<uint32_t, 3>& value, std::string_view) {
    for (uint32_t& element : value) {
      take(name, element);
    }
  }

 private:
  static bool addable(int64_t start, int64_t more) {
    return start >= -time_limit_ns && start <= time_limit_ns && more >= 0 && more <= time_limit_ns;
  }
  void set_bad(std::string_view name) {
    if (bad_.empty()) {
      bad_ = name;
    }
  }
  bool skip_null() {
    if (sqlite3_column_type(statement_, index_) != SQLITE_NULL) {
      return false;
    }
    ++index_;
    return true;
  }
  template <class T>
  void take(std::string_view name, T& value) {
    if (sqlite3_column_type(statement_, index_) != SQLITE_INTEGER) {
      set_bad(name);
    }
    const int64_t stored = sqlite3_column_int64(statement_, index_++);
    if (!std::in_range<T>(stored)) {
      set_bad(name);
    }
    value = static_cast<T>(stored);
  }

  sqlite3_stmt* statement_;
  int index_ = 0;
  std::string_view bad_;
};

class Reader {
 public:
  Reader(std::string path, DatabaseHandle database, FileHeader header)
      : database_(std::move(database)), header_(header) {
    capture_.path = std::move(path);
  }

  Result<Capture> read();

 private:
  template <class Row, class Action>
  Result<void> each(Action action);
  template <class Row>
  Result<void> append(std::vector<Row>& rows) {
    return each<Row>([&](Row& row) {
      rows.push_back(row);
      return true;
    });
  }
  // Rows that other rows refer to by their position.
  template <class Row>
  Result<void> append_by_id(std::vector<Row>& rows, uint32_t& known) {
    known = id_limit;  // nothing in these rows refers to their own table
    auto done = each<Row>([&](Row& row) {
      const bool next = row.id.value == rows.size();
      rows.push_back(row);
      return next;
    });
    known = static_cast<uint32_t>(rows.size());
    return done;
  }
  [[nodiscard]] std::unexpected<Error> bad(std::string what) const {
    return fail(ErrorKind::bad_input, std::move(what), capture_.path, damaged_advice);
  }

  DatabaseHandle database_;
  FileHeader header_;
  KnownIds known_;
  Capture capture_;
};

template <class Row, class Action>
Result<void> Reader::each(Action action) {
  // NOT INDEXED: an index may be damaged or lie.
  std::string columns;
  size_t count = 0;
  for (const Table& table : tables()) {
    if (table.text.name == table_text<Row>.name) {
      count = table.columns.size();
      for (const Column& column : table.columns) {
        columns += (columns.empty() ? "" : ",") + column.name;
      }
    }
  }
  auto statement = prepare(database_.get(), fmt::format("SELECT {} FROM {} NOT INDEXED", columns, table_text<Row>.name),
                           capture_.path, ErrorKind::bad_input);
  if (!statement) {
    return std::unexpected(statement.error());
  }
  // A record needs a byte per column and three more (file format, section 2.1), so the file's size bounds the rows: a
  // tree whose pages point to each other cannot make us fill the memory.
  const uint64_t limit = (header_.bytes + header_.wal_bytes) / (count + 3) + 1;
  uint64_t rows = 0;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement->get())) == SQLITE_ROW) {
    Row row{};
    Extractor extractor{statement->get()};
    describe(extractor, row);
    if (!extractor.good()) {
      return bad(fmt::format("table {}, row {}: {} is out of range or of the wrong type", table_text<Row>.name, rows,
                             extractor.bad_column()));
    }
    RowChecker checker{known_};
    describe(checker, row);
    if (checker.fault() != Fault::none) {
      return bad(
          fmt::format("table {}, row {}: {} {}", table_text<Row>.name, rows, checker.column(), checker.reason()));
    }
    if (++rows > limit) {
      return bad(fmt::format("table {} claims more rows than the file can hold", table_text<Row>.name));
    }
    if (!action(row)) {
      return bad(
          fmt::format("table {}, row {}: ids do not count from 0 without a gap", table_text<Row>.name, rows - 1));
    }
  }
  if (code != SQLITE_DONE) {
    return std::unexpected(sqlite_error(database_.get(), capture_.path, ErrorKind::bad_input));
  }
  return {};
}

Result<Capture> Reader::read() {
  // One snapshot: a capture that is still being recorded keeps growing underneath.
  auto done = execute(database_.get(), "BEGIN", capture_.path, ErrorKind::bad_input);
  auto then = [&](auto&& step) {
    if (done) {
      done = step();
    }
  };
  then([&] { return check_schema(database_.get(), capture_.path); });
  then([&] {
    return each<Meta>([&](Meta& row) {
      if (row.key == "complete") {
        capture_.complete = row.value == "1";
      } else {
        capture_.meta.insert_or_assign(row.key, row.value);
      }
      return true;
    });
  });
  then([&] {
    capture_.strings.clear();
    return each<StringRow>([&](StringRow& row) {
      const bool next = row.id == capture_.strings.size() && (row.id != 0 || row.value.empty());
      capture_.strings.push_back(std::move(row.value));
      return next;
    });
  });
  if (done && capture_.strings.empty()) {  // killed before its first commit
    capture_.strings.emplace_back();
  }
  known_.strings = static_cast<uint32_t>(capture_.strings.size());
  then([&] { return append_by_id(capture_.processes, known_.processes); });
  then([&] { return append_by_id(capture_.devices, known_.devices); });
  then([&] { return append_by_id(capture_.shapes, known_.shapes); });
  then([&] { return append(capture_.contexts); });
  then([&] { return append(capture_.api_calls); });
  then([&] { return append(capture_.executions); });
  then([&] { return append(capture_.transfers); });
  then([&] { return append(capture_.ranges); });
  then([&] { return append(capture_.off_cpu); });
  then([&] { return append(capture_.collective_calls); });
  then([&] { return append(capture_.communicators); });
  then([&] { return append(capture_.samples); });
  then([&] { return append(capture_.device_readings); });
  then([&] { return append(capture_.losses); });
  then([&] {
    return each<ClockMapping>([&](ClockMapping& row) {
      capture_.clock_mappings.push_back(row);
      return row.drift_ns_per_s <= drift_limit_ns_per_s && row.drift_ns_per_s >= -drift_limit_ns_per_s;
    });
  });
  then([&] { return apply_clocks(capture_); });
  if (!done) {
    return std::unexpected(done.error());
  }
  return std::move(capture_);
}

}  // namespace

Result<Capture> read_capture(const std::string& path) {
  auto file = open_capture(path);
  if (!file) {
    return std::unexpected(file.error());
  }
  return Reader{path, std::move(file->database), file->header}.read();
}

Result<void> annotate(const std::string& path, const std::vector<Meta>& facts) {
  auto header = read_file_header(path);
  if (!header) {
    return std::unexpected(header.error());
  }
  auto database = open_database(path, SQLITE_OPEN_READWRITE, path, ErrorKind::unavailable);
  if (!database) {
    return std::unexpected(database.error());
  }
  if (auto safe = distrust(database->get(), path, longest_value_bytes); !safe) {
    return safe;
  }
  auto complete =
      prepare(database->get(), "SELECT 1 FROM meta WHERE key='complete' AND value='1'", path, ErrorKind::bad_input);
  if (!complete) {
    return std::unexpected(complete.error());
  }
  if (sqlite3_step(complete->get()) != SQLITE_ROW) {
    return fail(ErrorKind::bad_input, "the capture is not complete, so no facts are added to it", path, "record again");
  }
  complete->reset();
  if (auto begun = execute(database->get(), "BEGIN IMMEDIATE", path, ErrorKind::unavailable); !begun) {
    return begun;
  }
  auto statement = prepare(database->get(), "INSERT OR REPLACE INTO meta VALUES(?,?)", path, ErrorKind::bad_input);
  if (!statement) {
    return std::unexpected(statement.error());
  }
  for (const Meta& fact : facts) {
    if (fact.key == "complete") {
      return fail(ErrorKind::internal, "only the recorder says that a capture is complete", path);
    }
    sqlite3_bind_text(statement->get(), 1, fact.key.data(), static_cast<int>(fact.key.size()), SQLITE_STATIC);
    sqlite3_bind_text(statement->get(), 2, fact.value.data(), static_cast<int>(fact.value.size()), SQLITE_STATIC);
    if (sqlite3_step(statement->get()) != SQLITE_DONE) {
      return std::unexpected(sqlite_error(database->get(), path, ErrorKind::unavailable));
    }
    sqlite3_reset(statement->get());
  }
  return execute(database->get(), "COMMIT", path, ErrorKind::unavailable);
}

}  // namespace kvet::store
