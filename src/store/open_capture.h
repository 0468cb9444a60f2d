// A capture file, opened for reading: it comes from somewhere else, so nothing in it is trusted.
#pragma once

#include <string>

#include "base/result.h"
#include "database/sqlite.h"
#include "store/file_header.h"
#include "store/schema.h"

namespace kvet::store {

inline constexpr int64_t longest_value_bytes = text_limit_bytes + 4096;  // and of a row: a text, and what is beside it
inline constexpr const char* damaged_advice =
    "the capture is damaged, or was not written by kvet: record again, or fetch the file again";

struct OpenCapture {
  database::DatabaseHandle database;
  FileHeader header;
};

// Errors are bad_input, as of read_file_header and open_untrusted. The schema is not checked yet.
Result<OpenCapture> open_capture(const std::string& path);

// The tables are those that kvet makes, and nothing in the schema could run. Errors are bad_input. Within a transaction, what it
// says holds for what is read there.
Result<void> check_schema(sqlite3* database, const std::string& path);

}  // namespace kvet::store
