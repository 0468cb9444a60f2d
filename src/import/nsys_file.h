// One Nsight Systems export: opened so that nothing in it runs, with its tables and columns probed, since these come and go
// between versions of the exporter.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "database/sqlite.h"

namespace kvet::importing {

// The output of the profiled program lies in one string, which may be large. A broken chain of pages can claim any length,
// which the size of the file bounds too.
inline constexpr uint64_t longest_value_bytes = 64u << 20;

class NsysFile {
 public:
  // Errors are bad_input: no file, truncated, in use, damaged, not an export of Nsight Systems, views or triggers in it.
  static Result<NsysFile> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string name() const { return path_.substr(path_.rfind('/') + 1); }
  [[nodiscard]] sqlite3* database() const { return database_.get(); }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  [[nodiscard]] bool has(std::string_view table) const { return columns_.contains(table); }
  [[nodiscard]] bool has(std::string_view table, std::string_view column) const;

  // What Nsight Systems says about itself, by name; "" where it does not. `exported`: META_DATA_EXPORT (in 2023
  // EXPORT_META_DATA); `captured`: META_DATA_CAPTURE (then EXPORT_META_DATA again), the first of several of one name.
  [[nodiscard]] std::string exported(std::string_view name) const;
  [[nodiscard]] std::string captured(std::string_view name) const;

  // "path: what": an error about this file.
  [[nodiscard]] std::unexpected<Error> refuse(std::string what, std::string advice) const;

 private:
  using Facts = std::map<std::string, std::string, std::less<>>;

  Result<void> probe();
  Result<void> read_facts(std::string_view table, Facts& into);

  std::string path_;
  uint64_t bytes_ = 0;
  database::DatabaseHandle database_;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> columns_;  // by table
  Facts exported_, captured_;
};

}  // namespace kvet::importing
