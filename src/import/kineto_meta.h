// What a capture from PyTorch traces says about itself, and what such traces cannot tell.
#pragma once

#include <vector>

#include "import/kineto_clocks.h"
#include "model/event_sink.h"

namespace kvet::importing {

void write_meta(EventSink& sink, const std::vector<KinetoTrace>& traces, const KinetoClock& clock);

}  // namespace kvet::importing
