// Writes a capture that is made of files: whole, or not at all.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "model/event_sink.h"

namespace kvet::cli {

// What `fill` gives becomes the capture at `path`, where store::check_room allows one. Whatever fails, an older capture of
// that name stays and nothing else does. Errors name `path`.
Result<void> write_capture(const std::string& path, const std::function<Result<void>(EventSink&)>& fill);

}  // namespace kvet::cli
