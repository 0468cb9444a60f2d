// What Nsight Systems says about its own work: warnings, records that it lost, and time that it took.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include "import/nsys_import.h"

namespace kvet::importing {
namespace {

constexpr int64_t warning = 2, error = 3;  // ENUM_DIAGNOSTIC_SEVERITY_LEVEL
constexpr size_t most_messages = 10;
constexpr size_t longest_message_bytes = 500;

bool mentions(std::string_view text, std::string_view word) {
  return std::ranges::search(text, word, [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
         }).begin() != text.end();
}

// Graphics and video are traced by default too, and say that they saw nothing.
bool about_what_is_read(std::string_view text) {
  constexpr auto words = std::to_array<std::string_view>(
      {"cuda", "cupti", "nvtx", "kernel", "gpu metric", "context switch", "sched", "dropped", "lost", "overflow"});
  return std::ranges::any_of(words, [&](std::string_view word) { return mentions(text, word); });
}

// "12 records were dropped": the first number of a message about a loss. 1 where it has none.
uint64_t count_in(std::string_view text) {
  uint64_t count = 0;
  bool any = false;
  for (const char c : text) {
    if (c >= '0' && c <= '9' && count < 1'000'000'000'000) {
      count = 10 * count + static_cast<uint64_t>(c - '0');
      any = true;
    } else if (any) {
      break;
    }
  }
  return any && count > 0 ? count : 1;
}

Result<void> read_messages(NsysImport& import) {
  constexpr std::string_view table = "DIAGNOSTIC_EVENT";
  if (!import.file.has(table)) {
    return {};
  }
  auto rows = NsysRows::select(import.file, table, {"severity", "text"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  std::set<std::string, std::less<>> said;
  while (rows->next()) {
    const int64_t severity = rows->integer(0).value_or(0);
    const auto text = rows->text(1);
    if (!text || (severity != warning && severity != error) || !about_what_is_read(*text)) {
      continue;
    }
    if (mentions(*text, "dropped") || mentions(*text, "lost")) {
      import.lost[LossKind::cupti_dropped] += count_in(*text);
    }
    const std::string_view cut = text->substr(0, longest_message_bytes);
    if (said.size() < most_messages && said.emplace(cut).second) {
      import.sink.on(Meta{fmt::format("import.message.{}", ++import.files.messages), std::string(cut)});
    }
  }
  return rows->end();
}

Result<void> add_overhead(NsysImport& import, std::string_view table, int64_t& total_ns) {
  if (!import.file.has(table)) {
    return {};
  }
  auto rows = NsysRows::select(import.file, table, {"start", "end", "overheadType"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  // ENUM_CUPTI_OVERHEAD_TYPE: what the profiler itself costs; the others are CUDA's own (compiling, loading). Older files
  // have no type, and only the profiler's in this table.
  constexpr int64_t flush = 3, resource = 5;
  while (rows->next()) {
    const int64_t type = rows->integer(2).value_or(flush);
    if (type >= flush && type <= resource) {
      if (const auto when = import.times(rows->integer(0), rows->integer(1))) {
        int64_t sum = 0;
        total_ns = __builtin_add_overflow(total_ns, when->end_ns - when->start_ns, &sum) ? total_ns : sum;
      }
    }
  }
  return rows->end();
}

}  // namespace

Result<void> read_diagnostics(NsysImport& import) {
  if (auto read = read_messages(import); !read) {
    return read;
  }
  int64_t overhead_ns = 0;
  for (const std::string_view table : {"PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"}) {
    if (auto read = add_overhead(import, table, overhead_ns); !read) {
      return read;
    }
  }
  if (overhead_ns > 0) {
    import.sink.on(Meta{"overhead.profiler_ns", std::to_string(overhead_ns)});
  }
  return {};
}

}  // namespace kvet::importing
