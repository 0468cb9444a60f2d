// The PyTorch profiler's traces from their bytes: what import_kineto does with files, for tests and fuzzing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/byte_source.h"
#include "model/event_sink.h"

namespace kvet::importing {

struct KinetoInput {
  std::string name;  // for messages
  // Called once for a single trace, twice where there are several: their clocks have to be known before the first event.
  std::function<Result<std::unique_ptr<ByteSource>>()> open;
};

Result<void> import_traces(const std::vector<KinetoInput>& inputs, EventSink& sink);

}  // namespace kvet::importing
