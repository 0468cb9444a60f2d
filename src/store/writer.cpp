// The file grows at its final path, in WAL mode with a commit per second: a recorder that is killed, or a machine that
// runs out of power, leaves a database that SQLite can read, short of the last second, where the user asked for it. A
// temporary name that is renamed at the end would leave nothing there. `complete` tells a finished file from one that is not.
#include "store/writer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>

#include "base/file_descriptor.h"
#include "database/sqlite.h"
#include "store/file_header.h"
#include "store/rules.h"
#include "store/schema.h"

namespace kvet::store {

using database::DatabaseHandle;
using database::execute;
using database::open_database;
using database::prepare;
using database::sqlite_error;
using database::StatementHandle;

namespace {

// Binds the columns of one row, in order. Failures of sqlite3_bind_* show up when the statement is stepped.
class Binder {
 public:
  explicit Binder(sqlite3_stmt* statement) : statement_(statement) {}

  template <class Tag>
  void reference(std::string_view, Id<Tag> id, std::string_view, std::string_view) {
    put(int64_t{id.value});
  }
  template <class Tag>
  void reference(std::string_view, const std::optional<Id<Tag>>& id, std::string_view, std::string_view) {
    id ? put(int64_t{id->value}) : put_null();
  }
  template <class T>
  void integer(std::string_view, T value, std::string_view) {
    put(static_cast<int64_t>(value));
  }
  template <class T>
  void integer(std::string_view, const std::optional<T>& value, std::string_view) {
    value ? put(static_cast<int64_t>(*value)) : put_null();
  }
  void bits(std::string_view, uint64_t value, std::string_view) { put(static_cast<int64_t>(value)); }
  void real(std::string_view, double value, std::string_view) { sqlite3_bind_double(statement_, ++index_, value); }
  void real(std::string_view, const std::optional<double>& value, std::string_view) {
    value ? static_cast<void>(sqlite3_bind_double(statement_, ++index_, *value)) : put_null();
  }
  void signed_real(std::string_view, double value, std::string_view) {
    sqlite3_bind_double(statement_, ++index_, value);
  }
  void boolean(std::string_view, bool value, std::string_view) { put(value ? 1 : 0); }
  void text(std::string_view, const std::string& value, std::string_view) {
    sqlite3_bind_text(statement_, ++index_, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  template <class E>
  void enumeration(std::string_view, E value, std::string_view) {
    put(static_cast<int64_t>(value));
  }
  void identifier(std::string_view, const std::array<uint8_t, 16>& value, std::string_view) {
    sqlite3_bind_blob(statement_, ++index_, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  void time(std::string_view, int64_t value, std::string_view) { put(value); }
  void time(std::string_view, const std::optional<int64_t>& value, std::string_view) {
    value ? put(*value) : put_null();
  }
  void interval(int64_t start, int64_t end, std::string_view) {
    put(start);
    put(end - start);
  }
  void within(std::string_view, int64_t start, int64_t, int64_t point, std::string_view) { put(point - start); }
  void triple(std::string_view, const std::array<uint32_t, 3>& value, std::string_view) {
    for (uint32_t element : value) {
      put(int64_t{element});
    }
  }

 private:
  void put(int64_t value) { sqlite3_bind_int64(statement_, ++index_, value); }
  void put_null() { sqlite3_bind_null(statement_, ++index_); }

  sqlite3_stmt* statement_;
  int index_ = 0;
};

template <class Row>
constexpr size_t table_index() {
  size_t index = 0, found = 0;
  for_each_table([&]<class Other>() {
    if (std::is_same_v<Row, Other>) {
      found = index;
    }
    ++index;
  });
  return found;
}
constexpr size_t table_count() {
  size_t count = 0;
  for_each_table([&]<class Row>() { ++count; });
  return count;
}

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};

class Writer final : public CaptureWriter {
 public:
  Writer(std::string path, DatabaseHandle database) : path_(std::move(path)), database_(std::move(database)) {}

  Result<void> begin();

  StringId intern(std::string_view text) override;
  void on(const Process& row) override { define(row, known_.processes); }
  void on(const Device& row) override { define(row, known_.devices); }
  void on(const KernelShape& row) override { define(row, known_.shapes); }
  void on(const Context& row) override { checked_write(row); }
  void on(const ApiCall& row) override { checked_write(row); }
  void on(const Execution& row) override { checked_write(row); }
  void on(const Transfer& row) override { checked_write(row); }
  void on(const Range& row) override { checked_write(row); }
  void on(const OffCpu& row) override { checked_write(row); }
  void on(const CollectiveCall& row) override { checked_write(row); }
  void on(const Communicator& row) override { checked_write(row); }
  void on(const Sample& row) override { checked_write(row); }
  void on(const DeviceReading& row) override { checked_write(row); }
  void on(const Loss& row) override { checked_write(row); }
  void on(const ClockMapping& row) override { checked_write(row); }
  void on(const Meta& row) override {
    if (row.key != "complete") {  // only finish() says so
      checked_write(row);
    }
  }

  Result<void> commit() override;
  Result<void> finish() override;
  [[nodiscard]] const Error* first_error() const override { return error_ ? &*error_ : nullptr; }
  [[nodiscard]] uint64_t dropped_rows() const override { return dropped_; }

 private:
  template <class Row>
  void write(const Row& row);
  template <class Row>
  void checked_write(const Row& row);
  template <class Row>
  void define(const Row& row, uint32_t& known);
  Result<void> run(const std::string& sql);
  void write_own_losses();
  void fail_with(Error error) {
    if (!error_) {
      error_ = std::move(error);
    }
  }

  std::string path_;
  DatabaseHandle database_;
  std::array<StatementHandle, table_count()> insert_;
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> strings_;
  KnownIds known_;
  std::map<LossKind, uint64_t> refused_;  // rows that break a rule of rules.h, since the last commit
  std::optional<Error> error_;
  uint64_t dropped_ = 0;
  bool finished_ = false;
};

Result<void> Writer::run(const std::string& sql) {
  return execute(database_.get(), sql, path_, ErrorKind::unavailable);
}

Result<void> Writer::begin() {
  // The header and the tables go into the main file before WAL mode begins, so that even a recorder killed in its first
  // second leaves a file that says what it is.
  std::string sql =
      fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; BEGIN;", application_id, format_version);
  std::vector<Table> all = tables();
  for (const Table& table : all) {
    sql += create_statement(table) + ";";
  }
  sql += create_enumerator_statement() + ";";
  for (const Enumerator& each : all_enumerators()) {
    sql += fmt::format("INSERT INTO enumerator VALUES('{}',{},'{}');", each.enumeration, each.value, each.name);
  }
  // synchronous=NORMAL: the disk is waited for at checkpoints only, every 16,384 pages (64 MiB, 1.5 M executions); a crash of
  // the machine may cost the seconds since, never the file.
  sql +=
      "COMMIT; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=16384; PRAGMA "
      "cache_size=-16384;";
  if (auto done = run(sql); !done) {
    return done;
  }
  for (size_t table = 0; table < all.size(); ++table) {
    std::string marks;
    for (size_t column = 0; column < all[table].columns.size(); ++column) {
      marks += column == 0 ? "?" : ",?";
    }
    auto statement =
        prepare(database_.get(), fmt::format("INSERT OR REPLACE INTO {} VALUES({})", all[table].text.name, marks),
                path_, ErrorKind::internal);
    if (!statement) {
      return std::unexpected(statement.error());
    }
    insert_[table] = std::move(*statement);
  }
  if (auto done = run("BEGIN"); !done) {
    return done;
  }
  intern("");
  return {};
}

template <class Row>
void Writer::write(const Row& row) {
  if (error_ || finished_) {
    ++dropped_;
    return;
  }
  sqlite3_stmt* statement = insert_[table_index<Row>()].get();
  Binder binder{statement};
  describe(binder, row);
  if (sqlite3_step(statement) != SQLITE_DONE) {
    fail_with(sqlite_error(database_.get(), path_, ErrorKind::unavailable));
    ++dropped_;
  }
  sqlite3_reset(statement);
}

template <class Row>
void Writer::checked_write(const Row& row) {
  RowChecker checker{known_};
  describe(checker, row);
  switch (checker.fault()) {
    case Fault::none: return write(row);
    case Fault::time: ++refused_[LossKind::bad_time]; return;
    case Fault::reference: ++refused_[LossKind::unjoined]; return;
    case Fault::value: ++refused_[LossKind::unknown_record]; return;
  }
}

template <class Row>
void Writer::define(const Row& row, uint32_t& known) {
  if (row.id.value >= id_limit) {
    ++refused_[LossKind::table_full];
    return;
  }
  // A hole would make every later id unreadable: it is filled with an empty row until its own comes.
  while (known < row.id.value) {
    Row empty{};
    empty.id.value = known++;
    write(empty);
  }
  if (known == row.id.value) {
    ++known;
  }
  checked_write(row);
}

StringId Writer::intern(std::string_view text) {
  text = text.substr(0, text_limit_bytes);
  if (auto found = strings_.find(text); found != strings_.end()) {
    return {found->second};
  }
  if (known_.strings >= id_limit) {
    ++refused_[LossKind::table_full];
    return {0};
  }
  StringRow row{known_.strings++, std::string{text}};
  write(row);
  strings_.emplace(std::move(row.value), row.id);
  return {row.id};
}

void Writer::write_own_losses() {
  for (auto [kind, count] : refused_) {
    write(Loss{Source::store, kind, {}, count, {}, {}});
  }
  refused_.clear();
}

Result<void> Writer::commit() {
  write_own_losses();
  if (!error_) {
    if (auto done = run("COMMIT; BEGIN"); !done) {
      fail_with(done.error());
    }
  }
  if (error_) {
    return std::unexpected(*error_);
  }
  return {};
}

Result<void> Writer::finish() {
  if (finished_) {
    return fail(ErrorKind::internal, "the capture was finished twice", path_);
  }
  write_own_losses();
  if (!error_) {
    if (auto done = run("COMMIT"); !done) {
      fail_with(done.error());
    }
  }
  finished_ = true;
  for (StatementHandle& statement : insert_) {
    statement.reset();
  }
  if (error_) {
    return std::unexpected(*error_);
  }
  std::string sql;
  for (const Index& index : indices()) {
    sql += index.statement + ";";
  }
  sql += "PRAGMA synchronous=FULL; PRAGMA journal_mode=DELETE; INSERT OR REPLACE INTO meta VALUES('complete','1');";
  if (auto done = run(sql); !done) {
    fail_with(done.error());
    return done;
  }
  database_.reset();
  return {};
}

}  // namespace

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(const std::string& path) {
  if (auto cleared = make_room(path); !cleared) {
    return std::unexpected(cleared.error());
  }
  auto database = open_database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path, ErrorKind::unavailable);
  if (!database) {
    return std::unexpected(database.error());
  }
  auto writer = std::make_unique<Writer>(path, std::move(*database));
  if (auto begun = writer->begin(); !begun) {
    writer.reset();
    for (const char* suffix : {"", "-wal", "-shm"}) {  // a capture without tables is none
      ::unlink((path + suffix).c_str());
    }
    return std::unexpected(begun.error());
  }
  return writer;
}

}  // namespace kvet::store
