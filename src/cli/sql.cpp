// kvet sql: questions of one's own to a capture.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "base/input_file.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/row_output.h"
#include "cli/sql_lists.h"
#include "database/reading_query.h"
#include "import/import.h"
#include "report/rows.h"
#include "store/documented_queries.h"
#include "store/open_capture.h"
#include "store/views.h"

namespace kvet::cli {
namespace {

constexpr int64_t memory_limit_bytes = int64_t{1} << 30;
constexpr size_t longest_query_bytes = 1 << 20;

std::atomic<bool> interrupted = false;

// The second ^C ends the process at once: a single comparison inside SQLite may take long.
void watch_for_interrupt() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted.store(true); };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

Result<std::string> text_of(std::FILE* file, const std::string& subject) {
  std::string text;
  char buffer[4096];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
    text.append(buffer, got);
    if (text.size() > longest_query_bytes) {
      return fail(ErrorKind::usage, "is longer than 1 MiB, which no query is", subject, "Give SQL");
    }
  }
  if (std::ferror(file) != 0) {
    return fail(ErrorKind::usage, std::strerror(errno), subject, "Give a file with one SQL statement");
  }
  return text;
}

Result<std::string> query_text(const SqlOptions& options) {
  const int ways = int{!options.query.empty()} + int{!options.query_file.empty()} + int{!options.documented.empty()};
  if (ways > 1) {
    return fail(ErrorKind::usage, "was given in two ways", "query", "Give one of QUERY, -f and --query");
  }
  if (!options.query.empty()) {
    return options.query;
  }
  if (!options.documented.empty()) {
    std::vector<std::string_view> names;
    for (const store::DocumentedQuery& query : store::documented_queries()) {
      if (query.name == options.documented) {
        return std::string(query.sql);
      }
      names.push_back(query.name);
    }
    const std::string_view meant = nearest(options.documented, names);
    return fail(ErrorKind::usage, "there is no documented query of that name", options.documented,
                meant.empty() ? "`kvet sql --list` lists them" : "Did you mean " + std::string(meant) + "?");
  }
  if (!options.query_file.empty()) {
    auto opened = open_regular_file(options.query_file);
    if (!opened) {
      return std::unexpected(opened.error());
    }
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(::fdopen(opened->get(), "rb"), &std::fclose);
    if (!file) {
      return fail(ErrorKind::internal, std::strerror(errno), options.query_file);
    }
    static_cast<void>(opened->release());  // it is the stream's now
    return text_of(file.get(), options.query_file);
  }
  if (::isatty(STDIN_FILENO) == 1) {
    return fail(ErrorKind::usage, "no query was given", "sql",
                "`kvet sql --list` lists the documented ones, --views what to ask");
  }
  return text_of(stdin, "standard input");
}

// The capture with its views, and a note where it is not whole.
Result<store::OpenCapture> open(const std::string& path) {
  if (const auto format = importing::detect(path)) {
    return fail(ErrorKind::bad_input,
                *format == importing::Format::nsys_sqlite ? "not a capture, but perhaps an export of Nsight Systems"
                                                          : "not a capture, but perhaps a profiler's trace",
                path, "Make a capture of it first: kvet import " + path + " -o run.kvet");
  }
  auto capture = store::open_capture(path);
  if (!capture) {
    return capture;
  }
  sqlite3* const database = capture->database.get();
  // One snapshot: a capture that is still being recorded keeps growing underneath.
  if (auto begun = database::execute(database, "BEGIN", path, ErrorKind::bad_input); !begun) {
    return std::unexpected(begun.error());
  }
  if (auto good = store::check_schema(database, path); !good) {
    return std::unexpected(good.error());
  }
  if (auto made = database::execute(database, store::view_statements(), path, ErrorKind::bad_input); !made) {
    return std::unexpected(made.error());
  }
  auto complete = database::prepare(database, "SELECT 1 FROM meta NOT INDEXED WHERE key = 'complete' AND value = '1'",
                                    path, ErrorKind::bad_input);
  if (!complete) {
    return std::unexpected(complete.error());
  }
  const int code = sqlite3_step(complete->get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    return std::unexpected(database::sqlite_error(database, path, ErrorKind::bad_input));
  }
  if (code == SQLITE_DONE) {
    print_note(path + ": the recorder did not finish: the end of this capture is missing");
  }
  return capture;
}

report::RowFormat rows_as(SqlFormat format) {
  switch (format) {
    case SqlFormat::csv: return report::RowFormat::csv;
    case SqlFormat::json: return report::RowFormat::json;
    case SqlFormat::jsonl: return report::RowFormat::jsonl;
    case SqlFormat::table: break;
  }
  return report::RowFormat::table;
}

Result<void> ask(const SqlOptions& options, RowOutput& output) {
  const auto sql = query_text(options);
  if (!sql) {
    return std::unexpected(sql.error());
  }
  const auto capture = open(options.file);
  if (!capture) {
    return std::unexpected(capture.error());
  }
  watch_for_interrupt();
  auto query =
      database::ReadingQuery::prepare(capture->database.get(), options.file, *sql, options.parameters,
                                      {options.timeout_ns, memory_limit_bytes, [] { return interrupted.load(); }});
  if (!query) {
    return std::unexpected(query.error());
  }
  const auto writer = report::make_row_writer(
      rows_as(options.format), query->columns(), [&](std::string_view piece) { output.write(piece); },
      ::isatty(STDOUT_FILENO) == 1);
  while (!output.closed() && output.state()) {
    const auto more = query->step();
    if (!more) {
      return std::unexpected(more.error());
    }
    if (!*more) {
      writer->end();
      break;
    }
    writer->row(query->row());
  }
  return {};
}

}  // namespace

int run_sql(const SqlOptions& options) {
  RowOutput output;
  Result<void> done;
  if (options.list || options.views) {
    if (options.list) {
      list_queries(options.format, output);
    }
    if (options.views) {
      list_views(options.format, output);
    }
  } else if (options.file.empty()) {
    done = fail(ErrorKind::usage, "no capture was given", "sql", "See `kvet sql --help`");
  } else {
    done = ask(options, output);
  }
  output.flush();
  if (done && !output.closed()) {
    done = output.state();
  }
  return done ? 0 : report_error(done.error());
}

}  // namespace kvet::cli
