// Other tools' files, as events into a sink. The files come from strangers: nothing in them is trusted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/event_sink.h"

namespace kvet::importing {

enum class Format : uint8_t {
  nsys_sqlite,  // what `nsys export --type sqlite` writes
  kineto_json,  // the PyTorch profiler's trace, plain or in gzip
};

// What a file is, from its first bytes; empty: none of these (it may be a capture, or nothing that kvet reads).
[[nodiscard]] std::optional<Format> detect(const std::string& path);

// Reads the files, all of one format, into one capture. All times keep the files' own clock. Where several files do not share
// one, each is shifted so that its first event is at 0, and the meta key `import.clock` says so. Errors are bad_input: what is
// wrong, and where.
Result<void> import_files(const std::vector<std::string>& paths, EventSink& sink);

}  // namespace kvet::importing
