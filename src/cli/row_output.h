// Rows to standard output, whoever reads it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kvet::cli {

// Collects pieces and writes them. A pipe whose reader is gone is no fault: nothing more is written, and `closed` says so.
class RowOutput {
 public:
  RowOutput();  // from here on, a closed pipe is an error of write(2), not a signal
  void write(std::string_view piece);
  void flush();
  [[nodiscard]] bool closed() const { return closed_; }
  // Internal (exit status 70) where something could not be written.
  [[nodiscard]] const Result<void>& state() const { return state_; }

 private:
  std::string buffer_;
  bool closed_ = false;
  Result<void> state_;
};

}  // namespace kvet::cli
