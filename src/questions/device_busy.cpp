#include "questions/device_busy.h"

namespace kvet::questions {
namespace {

template <class Row>
void add(std::vector<Span>& spans, const std::vector<Row>& rows, DeviceId device) {
  for (const Row& row : rows) {
    if (row.device == device) {
      spans.push_back({row.start_ns, row.end_ns});
    }
  }
}

}  // namespace

SpanSet device_busy(const Capture& capture, DeviceId device) {
  std::vector<Span> spans;
  add(spans, capture.executions, device);
  add(spans, capture.transfers, device);
  return SpanSet{std::move(spans)};
}

SpanSet device_executing(const Capture& capture, DeviceId device) {
  std::vector<Span> spans;
  add(spans, capture.executions, device);
  return SpanSet{std::move(spans)};
}

SpanSet device_transferring(const Capture& capture, DeviceId device) {
  std::vector<Span> spans;
  add(spans, capture.transfers, device);
  return SpanSet{std::move(spans)};
}

}  // namespace kvet::questions
