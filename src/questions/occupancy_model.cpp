#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "questions/make_finding.h"
#include "questions/occupancy_model.h"
#include "questions/occupancy_parts.h"

namespace kvet::questions {
namespace {

struct ShapeUse {
  ShapeId shape;
  DeviceId device;
  uint32_t sms = 0;  // that its context may use
  double time_ns = 0;
  uint64_t runs = 0;
};

std::vector<ShapeUse> shapes_by_time(const Capture& capture, const std::vector<DeviceTimeline>& devices) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, ShapeUse> uses;
  for (const DeviceTimeline& device : devices) {
    for (const Run& run : device.runs) {
      const ShapeId shape = capture.executions[run.execution].shape;
      const uint32_t sms = usable_multiprocessors(capture, capture.executions[run.execution]);
      ShapeUse& use = uses[{device.device.value, shape.value, sms}];
      use.sms = sms;
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

std::string percent_text(double share) { return fmt::format("{:.1f}%", 100 * share); }

// What would allow one more block, or nothing.
std::string step_text(const SmLimits& limits, const KernelShape& shape, const Theoretical& now) {
  if (std::ranges::find(now.limiters, Limiter::clusters) != now.limiters.end()) {
    return "a smaller cluster leaves fewer SMs of a GPC without one";
  }
  const auto step = next_step(limits, shape, now);
  if (!step) {
    return "";
  }
  if (step->blocks_per_sm == now.limits.block_slots && step->most_threads && !step->most_registers_per_thread &&
      now.limits.block_slots == now.limits.least()) {
    return fmt::format("blocks of up to {} threads would fit as often: {} of the warp slots", *step->most_threads,
                       percent_text(step->occupancy));
  }
  std::vector<std::string> parts;
  if (step->most_registers_per_thread) {
    parts.push_back(fmt::format("at most {} registers per thread", *step->most_registers_per_thread));
  }
  if (step->most_shared_bytes) {
    parts.push_back(fmt::format("at most {} of shared memory per block", size_text(*step->most_shared_bytes)));
  }
  if (step->most_threads) {
    parts.push_back(fmt::format("at most {} threads per block", *step->most_threads));
  }
  if (step->least_carve_out) {
    parts.push_back(fmt::format("a carve-out of {} (cudaFuncAttributePreferredSharedMemoryCarveout)",
                                size_text(*step->least_carve_out)));
  }
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < parts.size() ? ", " : " and ") + parts[i];
  }
  return fmt::format("{} would allow one more block per SM ({}): {} of the warp slots", text, step->blocks_per_sm,
                     percent_text(step->occupancy));
}

// "limited by registers and shared memory", and what is to be said about clusters and the carve-out.
std::string limit_text(const SmLimits& limits, const KernelShape& shape, const Theoretical& each, uint32_t sms) {
  if (each.blocks_per_sm == 0) {
    return fmt::format("a block does not fit on an SM by {}", names(each.limiters));
  }
  std::string text = fmt::format("limited by {}", names(each.limiters));
  if (each.limiters.front() == Limiter::carve_out) {
    text += fmt::format(", {} of {}", size_text(shape.shared_executed_bytes), size_text(limits.shared_bytes));
  }
  if (each.modelled_clusters && each.modelled_clusters->most > 0) {
    const double cluster = static_cast<double>(shape.cluster[0]) * shape.cluster[1] * shape.cluster[2];
    const double per_cluster = cluster * block_resources(limits, shape).warps / (double{1} * limits.warps * sms);
    text += fmt::format(
        ", {} to {} clusters of {:.0f} at once, {} to {}: the driver's own figure is not recorded, and depends on the "
        "SMs per GPC of this chip",
        each.modelled_clusters->least, each.modelled_clusters->most, cluster,
        percent_text(static_cast<double>(each.modelled_clusters->least) * per_cluster),
        percent_text(static_cast<double>(each.modelled_clusters->most) * per_cluster));
  }
  return text;
}

void add_unknown(std::vector<Finding>& findings, const KernelSet& kernels, const Device& device) {
  std::string reason = "the launch parameters are not in this capture",
              advice = "record with `kvet record`: imported files often lack them";
  if (device.compute_major == 0) {  // an imported file that lacks it, or another vendor's device
    reason = "the device's CUDA compute capability is not in this capture";
    advice = "kvet models NVIDIA's SMs; of these, `kvet record` stores it";
  } else if (!sm_limits(device)) {
    reason = fmt::format("the limits of compute capability {}.{} are not known to this kvet", device.compute_major,
                         device.compute_minor);
    advice = "use a newer kvet";
  }
  findings.push_back(unavailable(Question::occupancy, "occupancy.theoretical", kernels.label, "%", reason, advice));
  findings.push_back(unavailable(Question::occupancy, "occupancy.waves", kernels.label, "waves", reason, advice));
}

void add_waves(std::vector<Finding>& findings, const KernelSet& kernels, const Device& device, const KernelShape& shape,
               const Theoretical& limit, uint32_t sms, uint64_t runs) {
  const auto count = waves(limit, shape, sms);
  if (!count) {
    findings.push_back(unavailable(Question::occupancy, "occupancy.waves", kernels.label, "waves",
                                   limit.blocks_per_sm == 0 ? "a block does not fit on an SM by these launch parameters"
                                                            : "the grid or the number of SMs is not in this capture",
                                   "record with `kvet record`: imported files often lack them"));
    return;
  }
  std::string where = fmt::format("{} SMs", sms);
  if (sms != device.multiprocessors) {
    where = fmt::format("the {} of {} SMs that this context may use", sms, device.multiprocessors);
  }
  findings.push_back(found(
      Question::occupancy, "occupancy.waves", kernels.label, count->waves, "waves", Evidence::modelled, runs,
      fmt::format("The grid needs {:.2f} waves of {:.0f} blocks on {}; the last one is {:.0f}% full.{}", count->waves,
                  limit.blocks_per_sm * sms, where, 100 * count->last_fill,
                  limit.modelled_clusters ? " At the most clusters that the chip could hold: see theoretical." : "")));
  findings.push_back(found(Question::occupancy, "occupancy.tail", kernels.label, 100 * count->last_fill, "%",
                           Evidence::modelled, runs,
                           fmt::format("The last wave is {:.0f}% full.", 100 * count->last_fill)));
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

uint32_t usable_multiprocessors(const Capture& capture, const Execution& execution) {
  const uint32_t all = capture.devices[execution.device.value].multiprocessors;
  const auto context = std::ranges::find_if(capture.contexts, [&](const Context& each) {
    return each.process == execution.process && each.device == execution.device &&
           each.context_id == execution.context_id;
  });
  if (context == capture.contexts.end() || all == 0) {
    return all;
  }
  if (context->multiprocessors && *context->multiprocessors > 0) {
    return std::min(*context->multiprocessors, all);
  }
  // The server rounds the percentage down to what the hardware can do (MPS documentation, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE).
  const double percent = context->mps_thread_percent.value_or(100);
  return percent > 0 && percent < 100 ? std::max(1u, static_cast<uint32_t>(all * percent / 100)) : all;
}

std::string size_text(uint64_t bytes) {
  return bytes % 1024 == 0 ? fmt::format("{} KiB", bytes / 1024) : fmt::format("{} B", bytes);
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
    const auto each = sm ? theoretical(*sm, capture.shapes[use.shape.value], use.sms) : std::nullopt;
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
    add_unknown(findings, kernels, capture.devices[devices.front().device.value]);
    return;
  }
  const KernelShape& shape = capture.shapes[usual->shape.value];
  const Device& device = capture.devices[usual->device.value];
  const uint32_t sms = usual->sms;
  const double share = all > 0 ? 100 * usual->time_ns / all : 100;
  const std::string limited = limit_text(*limits, shape, *usual_limit, sms);
  std::string sentence = fmt::format("At most {} of the warp slots, {} ({}).", percent_text(weighted / weight), limited,
                                     launch_text(shape));
  if (shapes > 1) {
    sentence = fmt::format(
        "At most {} of the warp slots, averaged by time over {} launch shapes ({} to {}); the longest-running one "
        "({:.0f}% of the time: {}) is {}.",
        percent_text(weighted / weight), shapes, percent_text(low), percent_text(high), share, launch_text(shape),
        limited);
  }
  Finding theoretical_finding =
      found(Question::occupancy, "occupancy.theoretical", kernels.label, 100 * weighted / weight, "%",
            Evidence::modelled, usual->runs, std::move(sentence));
  theoretical_finding.advice = step_text(*limits, shape, *usual_limit);
  findings.push_back(std::move(theoretical_finding));
  add_waves(findings, kernels, device, shape, *usual_limit, sms, usual->runs);
  add_beside(findings, capture, kernels, devices, UsualLaunch{shape, *limits, *usual_limit, sms});
}

}  // namespace kvet::questions
