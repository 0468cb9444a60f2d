#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "questions/make_finding.h"
#include "questions/occupancy_parts.h"

namespace kvet::questions {
namespace {

struct ShapeUse {
  ShapeId shape;
  DeviceId device;
  double time_ns = 0;
  uint64_t runs = 0;
};

std::vector<ShapeUse> shapes_by_time(const Capture& capture, const std::vector<DeviceTimeline>& devices) {
  std::map<std::pair<uint32_t, uint32_t>, ShapeUse> uses;
  for (const DeviceTimeline& device : devices) {
    for (const Run& run : device.runs) {
      const ShapeId shape = capture.executions[run.execution].shape;
      ShapeUse& use = uses[{device.device.value, shape.value}];
      use.shape = shape;
      use.device = device.device;
      use.time_ns += static_cast<double>(run.to_ns - run.from_ns);
      ++use.runs;
    }
  }
  std::vector<ShapeUse> order;
  order.reserve(uses.size());
  for (const auto& [key, use] : uses) {
    order.push_back(use);
  }
  std::ranges::stable_sort(order, std::greater<>{}, &ShapeUse::time_ns);
  return order;
}

std::string launch_text(const KernelShape& shape) {
  return fmt::format("grid {}x{}x{}, block {}x{}x{}, {} registers, {} B shared", shape.grid[0], shape.grid[1],
                     shape.grid[2], shape.block[0], shape.block[1], shape.block[2], shape.registers_per_thread,
                     uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes);
}

// How a kernel is launched most of the time.
std::map<StringId, ShapeId> usual_shape(const Capture& capture) {
  std::vector<double> time(capture.shapes.size());
  for (const Execution& execution : capture.executions) {
    time[execution.shape.value] += static_cast<double>(execution.end_ns - execution.start_ns);
  }
  std::map<StringId, ShapeId> usual;
  for (uint32_t id = 0; id < capture.shapes.size(); ++id) {
    auto [entry, added] = usual.try_emplace(capture.shapes[id].name, ShapeId{id});
    if (!added && time[id] > time[entry->second.value]) {
      entry->second = ShapeId{id};
    }
  }
  return usual;
}

}  // namespace

std::vector<SiblingUse> siblings_at_start(const std::vector<DeviceTimeline>& devices, size_t most) {
  std::map<StringId, uint64_t> runs;
  for (const DeviceTimeline& device : devices) {
    for (const Run& run : device.runs) {
      for (StringId name : run.at_start) {
        ++runs[name];
      }
    }
  }
  std::vector<SiblingUse> order;
  order.reserve(runs.size());
  for (const auto& [name, count] : runs) {
    order.push_back({name, count});
  }
  std::ranges::stable_sort(order, std::greater<>{}, &SiblingUse::runs);
  if (order.size() > most) {
    order.resize(most);
  }
  return order;
}

void add_modelled(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                  const std::vector<DeviceTimeline>& devices) {
  const std::vector<ShapeUse> uses = shapes_by_time(capture, devices);
  double weighted = 0, weight = 0, all = 0, low = 1e9, high = -1;
  const ShapeUse* usual = nullptr;
  std::optional<Theoretical> usual_limit;
  std::optional<SmLimits> limits;
  size_t shapes = 0;
  for (const ShapeUse& use : uses) {
    all += use.time_ns;
    const Device& device = capture.devices[use.device.value];
    const auto sm = sm_limits(device);
    const auto each = sm ? theoretical(*sm, capture.shapes[use.shape.value], device.multiprocessors) : std::nullopt;
    if (each) {
      // An execution without length still has an occupancy.
      const double share = std::max(use.time_ns, 1.0);
      weighted += share * each->occupancy;
      weight += share;
      low = std::min(low, each->occupancy);
      high = std::max(high, each->occupancy);
      ++shapes;
      if (usual == nullptr) {
        usual = &use;
        usual_limit = each;
        limits = sm;
      }
    }
  }
  if (usual == nullptr) {
    const Device& device = capture.devices[devices.front().device.value];
    const bool unknown_device = !sm_limits(device);
    const std::string reason = unknown_device
                                   ? fmt::format("the limits of compute capability {}.{} are not known to this kvet",
                                                 device.compute_major, device.compute_minor)
                                   : "the launch parameters are not in this capture";
    const std::string advice =
        unknown_device ? "use a newer kvet" : "record with `kvet record`: imported files often lack them";
    findings.push_back(unavailable(Question::occupancy, "occupancy.theoretical", kernels.label, "%", reason, advice));
    findings.push_back(unavailable(Question::occupancy, "occupancy.waves", kernels.label, "waves", reason, advice));
    return;
  }
  const KernelShape& shape = capture.shapes[usual->shape.value];
  const Device& device = capture.devices[usual->device.value];
  const double share = all > 0 ? 100 * usual->time_ns / all : 100;
  std::string sentence = fmt::format("At most {:.1f}% of the warp slots, limited by {} ({}).", 100 * weighted / weight,
                                     name(usual_limit->limiter), launch_text(shape));
  if (shapes > 1) {
    sentence = fmt::format(
        "At most {:.1f}% of the warp slots, averaged by time over {} launch shapes ({:.1f}% to {:.1f}%); the "
        "longest-running one ({:.0f}% of the time: "
        "{}) is limited by {}.",
        100 * weighted / weight, shapes, 100 * low, 100 * high, share, launch_text(shape), name(usual_limit->limiter));
  }
  findings.push_back(found(Question::occupancy, "occupancy.theoretical", kernels.label, 100 * weighted / weight, "%",
                           Evidence::modelled, usual->runs, std::move(sentence)));

  if (const auto count = waves(*usual_limit, shape, device.multiprocessors)) {
    findings.push_back(found(
        Question::occupancy, "occupancy.waves", kernels.label, count->waves, "waves", Evidence::modelled, usual->runs,
        fmt::format("The grid needs {:.2f} waves of {:.0f} blocks on {} SMs; the last one is {:.0f}% full.",
                    count->waves, usual_limit->blocks_per_sm * device.multiprocessors, device.multiprocessors,
                    100 * count->last_fill)));
    findings.push_back(found(Question::occupancy, "occupancy.tail", kernels.label, 100 * count->last_fill, "%",
                             Evidence::modelled, usual->runs,
                             fmt::format("The last wave is {:.0f}% full.", 100 * count->last_fill)));
  } else {
    findings.push_back(unavailable(Question::occupancy, "occupancy.waves", kernels.label, "waves",
                                   usual_limit->blocks_per_sm == 0
                                       ? "a block does not fit on an SM by these launch parameters"
                                       : "the grid or the number of SMs is not in this capture",
                                   "record with `kvet record`: imported files often lack them"));
  }

  const std::map<StringId, ShapeId> shape_of = usual_shape(capture);
  for (const SiblingUse& sibling : siblings_at_start(devices, 5)) {
    const KernelShape& other = capture.shapes[shape_of.at(sibling.name).value];
    const auto theirs = theoretical(*limits, other, device.multiprocessors);
    if (!theirs || theirs->blocks_per_sm < 1) {
      continue;
    }
    // As many of theirs as their grid puts on an SM, at most what fits.
    const double grid = static_cast<double>(other.grid[0]) * other.grid[1] * other.grid[2];
    double resident = theirs->blocks_per_sm;
    if (grid > 0 && device.multiprocessors > 0) {
      resident = std::min(resident, std::max(1.0, std::ceil(grid / device.multiprocessors)));
    }
    const auto count = static_cast<uint32_t>(resident);
    const uint32_t fit = fits_beside(*limits, shape, other, count);
    Finding finding = found(
        Question::occupancy, "occupancy.fits_beside", kernels.label, fit, "blocks", Evidence::modelled, sibling.runs,
        fmt::format("Beside {} resident blocks of it on an SM, {} blocks of this kernel still fit (alone: {:.0f}).",
                    count, fit, usual_limit->blocks_per_sm));
    finding.beside = capture.text(sibling.name);
    findings.push_back(std::move(finding));
  }
}

}  // namespace kvet::questions
