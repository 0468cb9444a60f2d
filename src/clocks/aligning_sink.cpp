#include "clocks/aligning_sink.h"

#include <fmt/core.h>

#include <algorithm>

namespace kvet::clocks {
namespace {

// Ids are dense; one beyond these is a fault of a decoder, and must not cost memory.
constexpr uint32_t device_limit = 4'096, shape_limit = 4'000'000;

template <class Row>
void keep(std::vector<Row>& rows, uint32_t id, uint32_t limit, const Row& row) {
  if (id >= limit) {
    return;
  }
  if (rows.size() <= id) {
    rows.resize(id + 1);
  }
  rows[id] = row;
}

}  // namespace

void AligningSink::on(const Device& event) {
  keep(devices_, event.id.value, device_limit, event);
  next_.on(event);
}

void AligningSink::on(const KernelShape& event) {
  keep(shapes_, event.id.value, shape_limit, event);
  next_.on(event);
}

void AligningSink::on(const ClockMapping& event) {
  if (event.source == ClockSource::counters && event.device && event.residual_ns) {
    anchors_[event.device->value].push_back(event);
    return;  // the file gets what align() makes of it
  }
  if (event.source == ClockSource::counters && event.device) {
    AlignmentOptions options = options_;
    options.coarse_offset_ns = event.offset_ns;
    alignments_.try_emplace(event.device->value, *event.device, options);
  }
  next_.on(event);
}

void AligningSink::on(const Sample& event) {
  auto found = alignments_.find(event.device.value);
  if (found != alignments_.end() && event.device.value < devices_.size()) {
    found->second.add(measured_load(event, devices_[event.device.value].multiprocessors));
    auto [covered, first] = covered_.try_emplace(event.device.value, Covered{event.start_ns, event.end_ns});
    if (!first) {
      covered->second.from_ns = std::min(covered->second.from_ns, event.start_ns);
      covered->second.to_ns = std::max(covered->second.to_ns, event.end_ns);
    }
  }
  next_.on(event);
}

void AligningSink::on(const Execution& event) {
  auto found = alignments_.find(event.device.value);
  if (found != alignments_.end() && event.device.value < devices_.size() && event.shape.value < shapes_.size()) {
    found->second.add(expected_load(event, shapes_[event.shape.value], devices_[event.device.value]));
  }
  next_.on(event);
}

void AligningSink::align() {
  std::string said;
  for (const auto& [id, alignment] : alignments_) {
    if (!alignment.has_samples()) {
      continue;
    }
    const std::string device = alignments_.size() > 1 ? fmt::format("GPU {}: ", id) : "";
    said += said.empty() ? "" : "; ";
    const Covered& covered = covered_[id];
    if (auto aligned = align_with_anchors(alignment, anchors_[id], covered.from_ns, covered.to_ns)) {
      for (const ClockMapping& mapping : aligned->mappings) {
        next_.on(mapping);
      }
      said += device + "ok: " + aligned->said;
    } else {
      said += fmt::format("{}not aligned: {}; samples may sit up to {:.0f} ms beside the executions", device,
                          aligned.error().message(), static_cast<double>(options_.search_ns) / 1e6);
    }
  }
  if (!said.empty()) {
    next_.on(Meta{"counters.alignment", said});
  }
}

}  // namespace kvet::clocks
