// Opens databases that somebody else wrote: nothing in the file may run by itself, and no value of it may be larger than said.
#pragma once

#include <cstdint>

#include "database/sqlite.h"

namespace kvet::database {

// For reading, or for the few who write into a file that came from elsewhere. Schema objects that could run (triggers, views)
// are off and not trusted, extensions cannot be loaded, nothing can be attached, damaged pages are looked for.
// longest_value_bytes also bounds a row.
Result<void> distrust(sqlite3* database, const std::string& path, int64_t longest_value_bytes);

// Opens for reading, and distrusts. A file without a log beside it needs no lock and no file in its folder, so read-only
// folders and media work; one with a log (-wal) is read with it, and both are left as they are. A journal (-journal) that a
// killed writer left is rolled back, as every reader of SQLite's must. Errors are bad_input: not a database, damaged or
// encrypted, locked, a log that needs a folder that may be written.
Result<DatabaseHandle> open_untrusted(const std::string& path, int64_t longest_value_bytes);

// A log (-wal) or a rollback journal beside the file: somebody is writing it, or was stopped while writing.
[[nodiscard]] bool has_log(const std::string& path);

// Another process holds one of SQLite's locks on the file behind this descriptor.
[[nodiscard]] bool in_use(int descriptor);

}  // namespace kvet::database
