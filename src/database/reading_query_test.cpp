#include "database/reading_query.h"

#include <gtest/gtest.h>

#include <cmath>

#include "database/untrusted.h"

namespace kvet::database {
namespace {

constexpr int64_t second_ns = 1'000'000'000;

class Reading : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_database(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "test", ErrorKind::internal);
    ASSERT_TRUE(opened);
    database_ = std::move(*opened);
    ASSERT_TRUE(execute(
        database_.get(),
        "CREATE TABLE t(a INTEGER, b TEXT); CREATE INDEX t_by_a ON t(a); INSERT INTO t VALUES(1,'x'),(2,NULL),(3,'z')",
        "test", ErrorKind::internal));
    ASSERT_TRUE(distrust(database_.get(), "test", 1 << 20));
  }
  void TearDown() override { sqlite3_hard_heap_limit64(0); }  // it is the process's
  Result<ReadingQuery> prepare(const std::string& sql, const std::map<std::string, std::string>& parameters = {},
                               QueryLimits limits = {5 * second_ns, 64 << 20, {}}) {
    return ReadingQuery::prepare(database_.get(), "test", sql, parameters, std::move(limits));
  }
  // The error of preparing or running it.
  Error refusal(const std::string& sql, QueryLimits limits = {5 * second_ns, 64 << 20, {}}) {
    auto query = prepare(sql, {}, std::move(limits));
    if (!query) {
      return query.error();
    }
    for (;;) {
      const auto more = query->step();
      if (!more) {
        return more.error();
      }
      if (!*more) {
        ADD_FAILURE() << sql << " was allowed";
        return {};
      }
    }
  }
  DatabaseHandle database_;
};

TEST_F(Reading, RowsCarryTheStorageClasses) {
  auto query =
      prepare("SELECT 9223372036854775807 AS i, 0.1 AS r, 'a' || char(0) || 'b' AS t, x'00ff' AS b, NULL AS n, 9e999");
  ASSERT_TRUE(query) << query.error().message();
  EXPECT_EQ(query->columns(), (std::vector<std::string>{"i", "r", "t", "b", "n", "9e999"}));
  auto more = query->step();
  ASSERT_TRUE(more && *more);
  const auto& row = query->row();
  EXPECT_EQ(std::get<int64_t>(row[0]), 9223372036854775807);
  EXPECT_EQ(std::get<double>(row[1]), 0.1);
  EXPECT_EQ(std::get<std::string_view>(row[2]), std::string_view("a\0b", 3));
  EXPECT_EQ(std::get<Blob>(row[3]).bytes, std::string_view("\0\xff", 2));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(row[4]));
  EXPECT_TRUE(std::isinf(std::get<double>(row[5])));
  more = query->step();
  ASSERT_TRUE(more);
  EXPECT_FALSE(*more);
}

TEST_F(Reading, ParametersAreBoundAsWhatTheyLookLike) {
  auto query = prepare("SELECT typeof(:i), typeof(:r), typeof(:t), typeof(@v), :i + 1",
                       {{"i", "-4"}, {"r", "2.5"}, {"t", "4x"}, {"v", ""}});
  ASSERT_TRUE(query) << query.error().message();
  ASSERT_TRUE(*query->step());
  EXPECT_EQ(std::get<std::string_view>(query->row()[0]), "integer");
  EXPECT_EQ(std::get<std::string_view>(query->row()[1]), "real");
  EXPECT_EQ(std::get<std::string_view>(query->row()[2]), "text");
  EXPECT_EQ(std::get<std::string_view>(query->row()[3]), "text");
  EXPECT_EQ(std::get<int64_t>(query->row()[4]), -3);
}

TEST_F(Reading, ParametersThatLackOrAreTooManyAreUsage) {
  const auto lacks = prepare("SELECT :kernel");
  ASSERT_FALSE(lacks);
  EXPECT_EQ(lacks.error().exit_status(), 64);
  EXPECT_NE(lacks.error().message().find("--param kernel="), std::string::npos);
  EXPECT_FALSE(prepare("SELECT 1", {{"kernel", "x"}}));
}

TEST_F(Reading, WhatWritesOrReachesOutIsRefused) {
  for (const char* sql : {"INSERT INTO t VALUES(4,'w')",
                          "UPDATE t SET a = 0",
                          "DELETE FROM t",
                          "DROP TABLE t",
                          "CREATE TABLE u(a)",
                          "CREATE TEMP TABLE u(a)",
                          "CREATE TEMP VIEW v AS SELECT 1",
                          "CREATE VIRTUAL TABLE f USING fts5(a)",
                          "ATTACH 'elsewhere' AS e",
                          "DETACH main",
                          "VACUUM",
                          "VACUUM INTO 'elsewhere'",
                          "REINDEX",
                          "ANALYZE",
                          "BEGIN",
                          "COMMIT",
                          "SAVEPOINT s",
                          "PRAGMA journal_mode=DELETE",
                          "PRAGMA user_version=7",
                          "PRAGMA writable_schema=ON",
                          "PRAGMA trusted_schema=ON",
                          "PRAGMA temp_store_directory='/'",
                          "PRAGMA wal_checkpoint",
                          "PRAGMA optimize",
                          "SELECT load_extension('x')",
                          "SELECT LOAD_EXTENSION('x')",
                          "EXPLAIN DELETE FROM t",
                          "SELECT * FROM pragma_user_version(7)",
                          "INSERT INTO t VALUES(1,'') RETURNING a"}) {
    const Error error = refusal(sql);
    EXPECT_EQ(error.exit_status(), 64) << sql << ": " << error.message();
    EXPECT_EQ(error.subject, "query") << sql;
  }
  auto count = prepare("SELECT count(*), sum(a) FROM t");
  ASSERT_TRUE(count);
  ASSERT_TRUE(*count->step());
  EXPECT_EQ(std::get<int64_t>(count->row()[0]), 3);
  EXPECT_EQ(std::get<int64_t>(count->row()[1]), 6);
}

TEST_F(Reading, WhatOnlyReadsIsAllowed) {
  for (const char* sql :
       {"SELECT a FROM t", "VALUES(1)",
        "WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c WHERE n < 10) SELECT sum(n) FROM c",
        "EXPLAIN QUERY PLAN SELECT a FROM t", "PRAGMA table_info(t)", "SELECT name FROM pragma_table_info('t')",
        "SELECT value FROM json_each('[1,2]')", "PRAGMA user_version", "SELECT name FROM sqlite_schema", "SELECT 1;",
        "SELECT 1; ; -- nothing more\n"}) {
    auto query = prepare(sql);
    ASSERT_TRUE(query) << sql << ": " << query.error().message();
    EXPECT_TRUE(query->step()) << sql;
  }
}

TEST_F(Reading, OneStatementAtATime) {
  EXPECT_NE(refusal("SELECT 1;\n SELECT 2").what.find("more than one statement"), std::string::npos);
  EXPECT_NE(refusal("SELECT 1; DROP TABLE t").what.find("more than one statement"), std::string::npos);
  EXPECT_NE(refusal("").what.find("no statement"), std::string::npos);
  EXPECT_NE(refusal("  -- only this").what.find("no statement"), std::string::npos);
  EXPECT_NE(refusal(std::string("SELECT 1\0", 9)).what.find("line 1, column 9"), std::string::npos);
}

TEST_F(Reading, ErrorsNameThePlace) {
  EXPECT_NE(refusal("SELECT a,\n  nope\nFROM t").what.find("line 2, column 3"), std::string::npos);
  EXPECT_NE(refusal("SELEC 1").what.find("line 1, column 1"), std::string::npos);
}

TEST_F(Reading, WhatNeverEndsIsStopped) {
  const std::string endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c";
  const Error late = refusal(endless, {second_ns / 10, 64 << 20, {}});
  EXPECT_EQ(late.exit_status(), 75);
  EXPECT_NE(late.message().find("--timeout"), std::string::npos);
  EXPECT_EQ(refusal(endless, {3600 * second_ns, 64 << 20, [] { return true; }}).exit_status(), 75);
}

TEST_F(Reading, WhatIsTooLargeIsRefused) {
  EXPECT_NE(refusal("SELECT zeroblob(2000000)").what.find("longer than 1048576 bytes"), std::string::npos);
  const Error memory =
      refusal("SELECT length(hex(randomblob(300000)) || hex(randomblob(200000)))", {second_ns, 1 << 20, {}});
  EXPECT_EQ(memory.exit_status(), 64);
  EXPECT_NE(memory.what.find("more than 1 MiB of memory"), std::string::npos) << memory.message();
}

}  // namespace
}  // namespace kvet::database
