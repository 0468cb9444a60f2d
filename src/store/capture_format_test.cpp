// docs/capture-format.md and docs/queries/views.sql say what the code does. Where this fails after a change of the schema,
// run the test with KVET_WRITE_DOCS=1 and read the difference.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

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
  std::string text;
  for (auto [name, title] : {std::pair{"occupancy", "Occupancy: solo time and co-run time"},
                             std::pair{"dram", "DRAM: throughput while the kernel runs"},
                             std::pair{"off_cpu", "Dispatch: off-CPU time of the launching threads, by reason"},
                             std::pair{"starvation", "Dispatch: stream starvation"},
                             std::pair{"nccl", "NCCL: arrival wait and straggler"}}) {
    text += fmt::format("{}### {}\n\n`docs/queries/{}.sql`\n\n```sql\n{}```\n", text.empty() ? "" : "\n", title, name,
                        read_bytes(docs + "queries/" + name + ".sql"));
  }
  return text;
}

std::string views_file() {
  return "-- Made by the code (src/store/views.cpp): see docs/capture-format.md.\n" + view_statements();
}

// The document with each generated part replaced by what the code says now.
std::string expected_document(const std::string& document) {
  const std::map<std::string, std::string> parts{{"tables", tables_section()},
                                                 {"enumerations", enumerations_section()},
                                                 {"queries", queries_section()},
                                                 {"views", "```sql\n" + views_file() + "```\n"}};
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

TEST(CaptureFormat, DocumentSaysWhatTheCodeDoes) {
  const std::string document = read_bytes(docs + "capture-format.md");
  ASSERT_FALSE(document.empty());
  const std::string expected = expected_document(document);
  if (std::getenv("KVET_WRITE_DOCS") != nullptr) {
    std::ofstream{docs + "queries/views.sql"} << views_file();
    std::ofstream{docs + "capture-format.md"} << expected;
  }
  EXPECT_EQ(read_bytes(docs + "queries/views.sql"), views_file());
  EXPECT_EQ(read_bytes(docs + "capture-format.md"), expected);
}

TEST(CaptureFormat, DocumentNamesThisVersion) {
  const std::string document = read_bytes(docs + "capture-format.md");
  EXPECT_NE(document.find(fmt::format("| `user_version` (offset 60) | {}.", format_version)), std::string::npos);
  EXPECT_NE(document.find(fmt::format("0x{:x}", application_id)), std::string::npos);
}

}  // namespace
}  // namespace kvet::store
