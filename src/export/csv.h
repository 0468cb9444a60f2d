// Tables as CSV (RFC 4180: commas, CRLF, quotes doubled), UTF-8, one line of names first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/metrics.h"
#include "model/capture.h"

namespace kvet::exporting {

// Text from a capture as one cell: safe for a terminal (base/safe_text.h, so that it is one line, too), at most 4,096 columns.
// What a spreadsheet would take for a formula, since it begins with = + - or @ (ASCII or full width), gets a ' before it.
[[nodiscard]] std::string csv_text(std::string_view raw);

// One file per table of the capture file's schema into `folder`, which exists: TABLE.csv. Columns are the schema's, except:
// ids of strings become the text (name_id: name), enumerators their names, identifiers and 64-bit patterns hexadecimal, and
// times are on the host's clock already. What is not known is an empty cell. Errors are internal: cannot be written.
Result<void> write_capture_tables(const Capture& capture, const std::string& folder);

// findings.csv: those about the capture, then kernel by kernel.
Result<void> write_findings_table(const MetricsSource& source, const std::string& folder);

}  // namespace kvet::exporting
