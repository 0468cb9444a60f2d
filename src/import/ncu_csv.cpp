#include "import/ncu_csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/input_file.h"
#include "base/text.h"
#include "import/bounded_file.h"
#include "import/csv_rows.h"
#include "import/ncu_launches.h"
#include "import/ncu_table.h"

namespace kvet::importing {
namespace {

constexpr const char* how =
    "Write it with `ncu --csv --page raw` or `ncu --csv` (details page), from a report: --import FILE";

// First pass: how this file writes decimals. Cells with a unit count; a name or a version may look like a number.
Result<char> decimal_of(std::string_view text, const std::string& path) {
  DecimalMark mark;
  NcuTable table(text, path);
  while (true) {
    auto row = table.next();
    if (!row) {
      return std::unexpected(row.error());
    }
    if (!*row) {
      return mark.decide(path);
    }
    table
        .for_each_value([&](std::string_view, std::string_view unit, std::string_view value) {
          if (!trimmed(unit).empty()) {
            mark.see(value, table.line());
          }
          return Result<void>{};
        })
        .value();
  }
}

}  // namespace

Result<IsolatedProfile> parse_ncu_csv(std::string_view text, const std::string& path) {
  if (text.starts_with("\xef\xbb\xbf")) {
    text.remove_prefix(3);
  }
  const auto decimal = decimal_of(text, path);
  if (!decimal) {
    return std::unexpected(decimal.error());
  }
  NcuTable table(text, path);
  NcuLaunches launches(path, *decimal);
  while (true) {
    auto row = table.next();
    if (!row) {
      return std::unexpected(row.error());
    }
    if (!*row) {
      break;
    }
    if (auto begun = launches.begin(table); !begun) {
      return std::unexpected(begun.error());
    }
    if (auto added = table.for_each_value([&](std::string_view metric, std::string_view unit, std::string_view value) {
          return launches.add(metric, unit, value, table.line());
        });
        !added) {
      return std::unexpected(added.error());
    }
  }
  auto profile = std::move(launches).finish();
  if (!profile) {
    return profile;
  }
  profile->skipped_lines = table.skipped_lines();
  if (profile->launches.empty()) {
    return fail(ErrorKind::bad_input, "holds no kernel", path, how);
  }
  return profile;
}

Result<IsolatedProfile> read_ncu_csv(const std::string& path) {
  auto text =
      read_bounded(path, most_ncu_bytes, "Write fewer kernels: ncu --import FILE --kernel-name regex:NAME --csv");
  return text ? parse_ncu_csv(*text, path) : Result<IsolatedProfile>(std::unexpected(text.error()));
}

bool is_ncu_csv(const std::string& path) {
  auto opened = open_regular_file(path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(opened ? ::fdopen(opened->get(), "rb") : nullptr,
                                                             &std::fclose);
  if (!file) {
    return false;
  }
  static_cast<void>(opened->release());  // it is the stream's now
  // A program may print a lot before its first kernel.
  std::string head(size_t{1} << 20, '\0');
  head.resize(std::fread(head.data(), 1, head.size(), file.get()));
  const bool other = head.starts_with("SQLite format 3") || head.starts_with("\x1f\x8b") || head.starts_with('{');
  return !other && (path.ends_with(".csv") || head.find("Kernel Name") != std::string::npos);
}

}  // namespace kvet::importing
