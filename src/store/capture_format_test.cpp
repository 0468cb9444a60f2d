// docs/capture-format.md, docs/sql.md and docs/queries/views.sql say what the code does. Where this fails after a change of the schema,
// run the test with KVET_WRITE_DOCS=1 and read the difference.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "store/documented_queries.h"
#include "store/schema.h"
#include "store/test_support.h"
#include "store/views.h"

namespace kvet::store {
namespace {

const std::string docs = KVET_SOURCE_DIR "/docs/";

std::string table_text_of(const Table& table) {
  std::string text = fmt::format("### {}\n\n{}\n\n| column | type | meaning |\n| --- | --- | --- |\n", table.text.name,
                                 table.text.prose);
  for (const Column& column : table.columns) {
    std::string meaning = column.prose;
    if (!column.references.empty()) {
      meaning += fmt::format(" → `{}`", column.references);
    }
    if (!column.enumeration.empty()) {
      meaning += fmt::format(" Enumeration `{}`.", column.enumeration);
    }
    text += fmt::format("| `{}` | {}{} | {} |\n", column.name, column.type,
                        column.name == table.text.key ? ", key"
                        : column.nullable             ? ", may be NULL"
                                                      : "",
                        meaning);
  }
  return text;
}

std::string tables_section() {
  std::string text;
  for (const Table& table : tables()) {
    text += (text.empty() ? "" : "\n") + table_text_of(table);
  }
  text += "\nIndices, made at the end:\n\n";
  for (const Index& index : indices()) {
    text += fmt::format("    {};\n", index.statement);
  }
  return text;
}

std::string enumerations_section() {
  std::map<std::string, std::string> values;
  for (const Enumerator& each : all_enumerators()) {
    std::string& text = values[each.enumeration];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each.value, each.name);
  }
  std::string text = "| enumeration | values |\n| --- | --- |\n";
  for (const auto& [name, list] : values) {
    text += fmt::format("| `{}` | {} |\n", name, list);
  }
  return text;
}

std::string queries_section() {
  const std::map<std::string_view, std::string_view> titles{
      {"occupancy", "Occupancy: solo time and co-run time"},
      {"dram", "DRAM: throughput while the kernel runs"},
      {"off_cpu", "Dispatch: off-CPU time of the launching threads, by reason"},
      {"starvation", "Dispatch: stream starvation"},
      {"nccl", "NCCL: arrival wait and straggler"},
      {"kernels", "What ran"},
      {"losses", "What was not recorded"}};
  std::string text;
  for (const DocumentedQuery& query : documented_queries()) {
    EXPECT_TRUE(titles.contains(query.name)) << query.name << " needs a title here";
    EXPECT_EQ(query.sql, read_bytes(docs + "queries/" + std::string{query.name} + ".sql"));
    text += fmt::format("{}### {}\n\n`docs/queries/{}.sql`\n\n```sql\n{}```\n", text.empty() ? "" : "\n",
                        titles.contains(query.name) ? titles.at(query.name) : query.name, query.name, query.sql);
  }
  EXPECT_EQ(documented_queries().size(), titles.size());
  return text;
}

std::string view_columns_section() {
  std::string text;
  for (const View& view : views()) {
    text += fmt::format("{}### {}\n\n{}\n\n| column | unit | meaning |\n| --- | --- | --- |\n",
                        text.empty() ? "" : "\n", view.name, view.prose);
    for (const ViewColumn& column : view.columns) {
      text += fmt::format("| `{}` | {} | {} |\n", column.name, column.unit, column.prose);
    }
  }
  return text;
}

std::string views_file() {
  return "-- Made by the code (src/store/views.cpp): see docs/capture-format.md.\n" + view_statements();
}

// The document with each generated part replaced by what the code says now.
std::string with_parts(const std::string& document, const std::map<std::string, std::string>& parts) {
  std::string text = document;
  for (const auto& [name, content] : parts) {
    const std::string begin = "<!-- generated: " + name + " -->\n";
    const size_t from = text.find(begin), to = text.find("<!-- end -->", from);
    EXPECT_NE(from, std::string::npos) << name;
    EXPECT_NE(to, std::string::npos) << name;
    if (from != std::string::npos && to != std::string::npos) {
      text.replace(from + begin.size(), to - from - begin.size(), content);
    }
  }
  return text;
}

void hold(const std::string& name, const std::string& expected) {
  if (std::getenv("KVET_WRITE_DOCS") != nullptr) {
    std::ofstream{docs + name} << expected;
  }
  EXPECT_EQ(read_bytes(docs + name), expected);
}

TEST(CaptureFormat, DocumentsSayWhatTheCodeDoes) {
  const std::string format = read_bytes(docs + "capture-format.md"), sql = read_bytes(docs + "sql.md");
  ASSERT_FALSE(format.empty());
  ASSERT_FALSE(sql.empty());
  hold("queries/views.sql", views_file());
  hold("capture-format.md", with_parts(format, {{"tables", tables_section()},
                                                {"enumerations", enumerations_section()},
                                                {"queries", queries_section()},
                                                {"views", "```sql\n" + views_file() + "```\n"}}));
  hold("sql.md", with_parts(sql, {{"view columns", view_columns_section()}}));
}

TEST(CaptureFormat, DocumentNamesThisVersion) {
  const std::string document = read_bytes(docs + "capture-format.md");
  EXPECT_NE(document.find(fmt::format("| `user_version` (offset 60) | {}.", format_version)), std::string::npos);
  EXPECT_NE(document.find(fmt::format("0x{:x}", application_id)), std::string::npos);
}

}  // namespace
}  // namespace kvet::store
