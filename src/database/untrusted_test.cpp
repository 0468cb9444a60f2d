#include "database/untrusted.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace kvet::database {
namespace {

class Untrusted : public testing::Test {
 protected:
  void SetUp() override { remove_all(); }
  void TearDown() override { remove_all(); }
  void remove_all() const {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      std::remove((path_ + suffix).c_str());
    }
  }
  // Runs SQL as the program that wrote the file would; the connection stays open until `write` is called again.
  void write(const std::string& sql) {
    writer_.reset();
    auto opened = open_database(path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path_, ErrorKind::internal);
    ASSERT_TRUE(opened);
    writer_ = std::move(*opened);
    auto done = execute(writer_.get(), sql, path_, ErrorKind::internal);
    ASSERT_TRUE(done) << done.error().message();
  }
  // What a query gives in its first column and row, or the message of its error.
  static std::string first(sqlite3* database, const std::string& sql) {
    auto statement = prepare(database, sql, "test", ErrorKind::bad_input);
    if (!statement) {
      return statement.error().what;
    }
    if (sqlite3_step(statement->get()) != SQLITE_ROW) {
      return sqlite3_errmsg(database);
    }
    return reinterpret_cast<const char*>(sqlite3_column_text(statement->get(), 0));
  }

  std::string path_ = testing::TempDir() + std::to_string(::getpid()) + "_un%3ftrusted?mode=rwc.sqlite";
  DatabaseHandle writer_;
};

TEST_F(Untrusted, ReadsAFileWhoseNameLooksLikeAQuery) {
  write("CREATE TABLE t(x); INSERT INTO t VALUES(42)");
  writer_.reset();
  auto database = open_untrusted(path_, 1000);
  ASSERT_TRUE(database) << database.error().message();
  EXPECT_EQ(first(database->get(), "SELECT x FROM t"), "42");
  EXPECT_NE(first(database->get(), "INSERT INTO t VALUES(1) RETURNING 1").find("readonly"), std::string::npos);
}

TEST_F(Untrusted, ReadsTheLogOfAnOpenWriterAndLeavesItThere) {
  write("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(7)");
  {
    auto database = open_untrusted(path_, 1000);
    ASSERT_TRUE(database) << database.error().message();
    EXPECT_EQ(first(database->get(), "SELECT x FROM t"), "7");
  }
  EXPECT_EQ(::access((path_ + "-wal").c_str(), F_OK), 0);
}

TEST_F(Untrusted, ViewsOfTheFileAreOffAndOnesOfOursAreNot) {
  write("CREATE TABLE t(x); INSERT INTO t VALUES(1); CREATE VIEW v AS SELECT x FROM t");
  writer_.reset();
  auto database = open_untrusted(path_, 1000);
  ASSERT_TRUE(database);
  EXPECT_NE(first(database->get(), "SELECT x FROM v").find("access to view"), std::string::npos);
  ASSERT_TRUE(execute(database->get(), "CREATE TEMP VIEW own AS SELECT x + 1 FROM t", path_, ErrorKind::internal));
  EXPECT_EQ(first(database->get(), "SELECT * FROM own"), "2");
}

TEST_F(Untrusted, AValueLongerThanAllowedIsAnErrorAndNothingIsAttached) {
  write("CREATE TABLE t(x); INSERT INTO t VALUES(printf('%.*c', 3000, 'x'))");
  writer_.reset();
  auto database = open_untrusted(path_, 2000);
  ASSERT_TRUE(database);
  EXPECT_NE(first(database->get(), "SELECT x FROM t").find("too big"), std::string::npos);
  EXPECT_NE(first(database->get(), "ATTACH ':memory:' AS other").find("too many attached"), std::string::npos);
}

TEST_F(Untrusted, WhatIsNoDatabaseOrEncryptedIsBadInput) {
  std::ofstream{path_} << std::string(8192, '\x5a');
  auto database = open_untrusted(path_, 1000);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().exit_status(), 65);
  EXPECT_EQ(database.error().subject, path_);
}

TEST_F(Untrusted, AMissingFileIsNotMade) {
  EXPECT_FALSE(open_untrusted(path_, 1000));
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace kvet::database
