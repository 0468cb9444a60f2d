// Writes a capture file while it is being recorded. docs/capture-format.md describes the file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/event_sink.h"

namespace kvet::store {

class CaptureWriter : public EventSink {
 public:
  // Makes a new file (an existing one is replaced only when it is a kvet capture or empty). WAL, no indices.
  static Result<std::unique_ptr<CaptureWriter>> create(const std::string& path);

  // Makes what was written so far durable against a killed recorder. Call about once per second.
  virtual Result<void> commit() = 0;
  // Indices, single-file journal mode, and `complete=1` as the last act. Nothing may be written afterwards.
  virtual Result<void> finish() = 0;
  // The first error of any write; writes after it are dropped and counted (a full disk must not stop the target).
  [[nodiscard]] virtual const Error* first_error() const = 0;
  [[nodiscard]] virtual uint64_t dropped_rows() const = 0;
};

}  // namespace kvet::store
