// Occupancy by kernel: the device's, split as residency.h does it, where the split is determined by the data.
#include <algorithm>
#include <numeric>

#include "questions/residency.h"
#include "questions/sm_limits.h"
#include "questions/tracks_parts.h"

namespace kvet::questions {
namespace {

constexpr size_t kernels_shown = 16;  // those with most warps; the others are told together

// Which row each launch shape belongs to.
struct Rows {
  std::vector<StringId> names;  // of the rows; the last row is for all others
  std::vector<size_t> of_shape;
  [[nodiscard]] size_t count() const { return names.size() + 1; }
};

Rows rows_of(const Capture& capture, const DeviceResidency& residency) {
  std::map<StringId, double> warps;
  for (const SampleResidency& sample : residency.samples) {
    for (const ResidentKernel& kernel : sample.kernels) {
      warps[capture.shapes[kernel.shape.value].name] += sample.resolved ? kernel.warps : 0;
    }
  }
  Rows rows;
  for (const auto& [name, sum] : warps) {
    if (sum > 0) {
      rows.names.push_back(name);
    }
  }
  std::ranges::stable_sort(rows.names, std::ranges::greater{}, [&](StringId name) { return warps[name]; });
  rows.names.resize(std::min(rows.names.size(), kernels_shown));
  rows.of_shape.assign(capture.shapes.size(), rows.names.size());
  for (size_t shape = 0; shape < capture.shapes.size(); ++shape) {
    const auto row = std::ranges::find(rows.names, capture.shapes[shape].name);
    rows.of_shape[shape] = static_cast<size_t>(row - rows.names.begin());
  }
  return rows;
}

class KernelCounters {
 public:
  KernelCounters(TrackBook& book, DeviceId device, Rows rows)
      : book_(book),
        device_(device),
        rows_(std::move(rows)),
        tracks_(rows_.count()),
        last_(rows_.count()),
        now_(rows_.count()) {}

  // `residency` is null where no kernel ran in the sample.
  void add(const Sample& sample, const SampleResidency* residency, double slots) {
    std::ranges::fill(now_, 0);
    if (residency != nullptr) {
      for (const ResidentKernel& kernel : residency->kernels) {
        now_[rows_.of_shape[kernel.shape.value]] += 100 * kernel.warps / slots;
      }
    }
    for (size_t row = 0; row < now_.size(); ++row) {
      // A value holds until the next one; a row begins with its first warps.
      if (last_[row] ? *last_[row] == now_[row] : now_[row] == 0) {
        continue;
      }
      if (!tracks_[row]) {
        const std::string name = row < rows_.names.size() ? book_.kernel(rows_.names[row])->text : "other kernels";
        tracks_[row] = book_.make(book_.device(device_), TrackKind::kernel_counter, "Occupancy: " + name, "%");
      }
      book_.sink.on(TimelineCounter{*tracks_[row], sample.start_ns, now_[row]});
      last_[row] = now_[row];
    }
  }

 private:
  TrackBook& book_;
  DeviceId device_;
  Rows rows_;
  std::vector<std::optional<TrackId>> tracks_;
  std::vector<std::optional<double>> last_;
  std::vector<double> now_;
};

}  // namespace

void tell_kernel_counters(TrackBook& book, DeviceId device, const DeviceSamples& samples) {
  const double slots = warp_slots(book.capture.devices[device.value]);
  if (samples.samples.empty() || slots <= 0) {
    return;  // nothing to split: said by the track of unsampled times
  }
  const DeviceResidency residency =
      samples.guard_ns ? device_residency(book.capture, device, samples) : DeviceResidency{};
  std::vector<Span> unresolved;
  std::string reason = "the readings do not tell the kernels apart";
  if (residency.samples.empty()) {
    const std::string& why = samples.guard_ns ? residency.reason : samples.reason;
    if (why.empty()) {
      return;  // no kernel ran
    }
    reason = why;
    unresolved.push_back({samples.samples.front()->start_ns, samples.samples.back()->end_ns});
  }
  KernelCounters counters(book, device, rows_of(book.capture, residency));
  size_t next = 0;
  for (const Sample* sample : samples.samples) {
    const bool present = next < residency.samples.size() && residency.samples[next].sample == sample;
    const SampleResidency* known = present ? &residency.samples[next++] : nullptr;
    if (known != nullptr && !known->resolved) {
      unresolved.push_back({sample->start_ns, sample->end_ns});
    } else if (!residency.samples.empty()) {
      counters.add(*sample, known, slots);
    }
  }
  const SpanSet spans{std::move(unresolved)};
  if (!spans.empty()) {
    const TrackId track = book.make(book.device(device), TrackKind::unresolved, "Occupancy by kernel unknown");
    const TimelineName* name = book.name("unresolved: " + reason);
    for (const Span& span : spans.spans()) {
      book.sink.on(TimelineSlice{track, span.from, span.to, name, "unresolved", {}, {}, std::nullopt});
    }
  }
}

}  // namespace kvet::questions
