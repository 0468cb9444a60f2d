// Views for people who ask the file by SQL: times mapped to CLOCK_MONOTONIC, intervals with an end, names instead of ids. They
// are TEMP views, made by the connection that wants them: a capture never holds any.
#pragma once

#include <string>

namespace kvet::store {

// CREATE TEMP VIEW statements, each ended by a semicolon: for `kvet sql`, and for docs/queries/views.sql.
[[nodiscard]] std::string view_statements();

}  // namespace kvet::store
