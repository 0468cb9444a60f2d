// What can be said about a capture file before SQLite opens it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace kvet::store {

struct FileHeader {
  uint64_t bytes = 0;      // of the file
  uint64_t wal_bytes = 0;  // of the log beside it; 0: none
};

// Reads the first 100 bytes (https://www.sqlite.org/fileformat2.html, section 1.3). Errors are bad_input: no such file, a
// folder, empty, not a database, another program's database, another version (both named), truncated.
Result<FileHeader> read_file_header(const std::string& path);

// Whether a new capture may take this name: nothing lies there, or an empty file or an old capture. Anything else is
// bad_input, and so is a capture that somebody is still writing; where no file can be made, that is internal. Changes nothing.
Result<void> check_room(const std::string& path);

// The same, and removes what lies there, with its log.
Result<void> make_room(const std::string& path);

}  // namespace kvet::store
