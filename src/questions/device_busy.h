// When a device did anything at all.
#pragma once

#include "model/capture.h"
#include "questions/spans.h"

namespace kvet::questions {

// Times in which the device ran a kernel, a copy or a memset of anybody in the capture.
SpanSet device_busy(const Capture& capture, DeviceId device);
// Times with at least one kernel; with at least one copy or memset.
SpanSet device_executing(const Capture& capture, DeviceId device);
SpanSet device_transferring(const Capture& capture, DeviceId device);

}  // namespace kvet::questions
