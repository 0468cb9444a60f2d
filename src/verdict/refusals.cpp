#include "verdict/refusals.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "verdict/basis.h"

namespace kvet::verdict {
namespace {

class Collector {
 public:
  explicit Collector(size_t blocks) : blocks_(blocks) {}

  // One cause per code: the first block's words, and how many blocks more.
  void add(const std::vector<std::pair<std::string, std::string>>& found, const std::string& code,
           const std::string& fix) {
    if (found.empty()) {
      return;
    }
    std::string what = found.front().first + ": " + found.front().second;
    if (found.size() > 1) {
      what += fmt::format(" (and {} more of {} captures)", found.size() - 1, blocks_);
    }
    causes.push_back({code, what, fix});
  }
  std::vector<Cause> causes;

 private:
  size_t blocks_;
};

template <class Value>
std::string listed(const std::set<Value>& values) {
  std::string text;
  for (const auto& value : values) {
    text += (text.empty() ? "" : " and ") + value;
  }
  return text;
}

std::string device_names(const BlockSummary& block) {
  std::string text;
  for (const DeviceIdentity& device : block.devices) {
    const bool known = device.uuid.find_first_not_of('0') != std::string::npos;  // some imported files have none
    text += (text.empty() ? "" : ", ") +
            (known ? fmt::format("{} (GPU-{})", device.name, device.uuid.substr(0, 8)) : device.name);
  }
  return text;
}

std::string power_limits(const BlockSummary& block) {
  std::string text;
  for (const DeviceIdentity& device : block.devices) {
    if (device.power_limit_milliwatts) {
      text += (text.empty() ? "" : ", ") + fmt::format("{:.0f} W", *device.power_limit_milliwatts / 1000.0);
    }
  }
  return text;
}

void add_differences(Collector& collector, const std::vector<const BlockSummary*>& blocks) {
  std::set<std::string> gpus, drivers, limits, tiers;
  for (const BlockSummary* one : blocks) {
    const BlockSummary& block = *one;
    if (block.devices.empty()) {
      continue;  // the set did not run: no device to compare
    }
    gpus.insert(device_names(block));
    // What a capture does not say cannot differ.
    if (!block.driver_version.empty()) {
      drivers.insert(block.driver_version);
    }
    if (std::string limit = power_limits(block); !limit.empty()) {
      limits.insert(limit);
    }
    if (!block.tier.empty()) {
      tiers.insert(block.tier);
    }
  }
  if (gpus.size() > 1) {
    collector.causes.push_back({"different_gpu", "the arms ran on different GPUs: " + listed(gpus),
                                "record both arms on one GPU: set CUDA_VISIBLE_DEVICES to its UUID"});
  }
  if (drivers.size() > 1) {
    collector.causes.push_back({"different_driver", "the arms ran under different drivers: " + listed(drivers),
                                "record both arms under one driver"});
  }
  if (limits.size() > 1) {
    collector.causes.push_back({"different_power_limit", "the power limits differ: " + listed(limits),
                                "set one limit for both arms: nvidia-smi -pl WATTS"});
  }
  if (tiers.size() > 1) {
    collector.causes.push_back({"different_tier", "the arms were recorded at different tiers: " + listed(tiers),
                                "record both arms with the same --tier: recording costs differ between tiers"});
  }
}

void add_clock_residual(Collector& collector, const RefusalInput& input) {
  int64_t worst = 0;
  double baseline = 0, candidate = 0;
  for (const BlockSummary* block : input.blocks) {
    worst = std::max(worst, block->clock_residual_ns.value_or(0));
    double& slot = block->arm == Arm::baseline ? baseline : candidate;
    slot = std::max(slot, block->set_time_per_step_ns.value_or(0));
  }
  // What must be resolved: the claimed saving per step; without a claim, the saving that was seen.
  double effect = input.claim ? baseline * (1 - 1 / *input.claim) : std::abs(baseline - candidate);
  if (worst > 0 && static_cast<double>(worst) > effect) {
    collector.causes.push_back({"clock_residual",
                                fmt::format("clocks are {:.1f} µs apart, more than the effect of {:.1f} µs per step",
                                            static_cast<double>(worst) / 1e3, effect / 1e3),
                                "choose a longer step (step = 'REGEX'), or import files that come from one clock"});
  }
}

// questions.md: within 1%.
constexpr double blocks_tolerance = 0.01;

// The records come from the arm's own process, the counters from outside of it.
void add_blocks(Collector& collector, const std::vector<const BlockSummary*>& blocks) {
  std::array<double, 2> sum{}, count{};
  const BlockSummary* missing = nullptr;
  for (const BlockSummary* block : blocks) {
    if (block->blocks_ratio) {
      sum[static_cast<size_t>(block->arm)] += *block->blocks_ratio;
      ++count[static_cast<size_t>(block->arm)];
      missing = *block->blocks_ratio < 1 - blocks_tolerance ? block : missing;
    }
  }
  if (missing != nullptr) {
    collector.causes.push_back(
        {"blocks_disagree",
         fmt::format("{}: the counters saw {:.1f}% of the blocks that the recorded executions have", missing->path,
                     100 * *missing->blocks_ratio),
         "see quality.blocks in `kvet report`: records of work that never ran, or another process on the GPU"});
    return;
  }
  // More than recorded in both arms alike is work that neither arm's records explain (the driver's own kernels, another
  // process); more in one arm alone is work that this arm hides.
  if (count[0] > 0 && count[1] > 0 && std::abs(sum[0] / count[0] - sum[1] / count[1]) > blocks_tolerance) {
    collector.causes.push_back(
        {"blocks_disagree",
         fmt::format("the counters saw {:.1f}% of the baseline's recorded blocks and {:.1f}% of the candidate's",
                     100 * sum[0] / count[0], 100 * sum[1] / count[1]),
         "see quality.blocks in `kvet report`: one arm does work that its records do not show"});
  }
}

}  // namespace

std::vector<Cause> refusals(const RefusalInput& input) {
  Collector collector(input.blocks.size());
  std::vector<std::pair<std::string, std::string>> incomplete, empty, lost, disagree;
  for (const BlockSummary* one : input.blocks) {
    const BlockSummary& block = *one;
    if (!block.complete) {
      incomplete.emplace_back(block.path, "the recorder did not finish this capture");
    }
    // A baseline without its kernels cannot be measured; a candidate without them is INVALID unless nothing at all ran.
    if (block.executions == 0 || (block.arm == Arm::baseline && block.set_executions == 0)) {
      empty.emplace_back(block.path, block.executions == 0 ? "no kernel execution in the window"
                                                           : "no kernel of the set ran in the window");
    }
    if (!block.losses.empty()) {
      lost.emplace_back(block.path, block.losses.front().what);
    }
    if (!block.counts.disagreements.empty()) {
      disagree.emplace_back(block.path, block.counts.disagreements.front());
    }
  }
  collector.add(incomplete, "incomplete", "record it again, and let `kvet record` end by itself or with ^C");
  collector.add(empty, "no_executions", "look at inject.status in the capture and at the logs, and record again");
  collector.add(lost, "lost_records",
                "record again with less beside it: a shorter window, --counters off, or an idle CPU for the recorder");
  collector.add(disagree, "counts_disagree",
                "record again; if it stays, `kvet report` shows the counts of each source in its quality section");
  add_differences(collector, input.blocks);
  add_clock_residual(collector, input);
  add_blocks(collector, input.blocks);
  for (const OwnOverhead& overhead : input.overhead) {
    // Beyond the budget by more than the noise of the blocks: one slow block is no proof of a costly recorder.
    double surely = overhead.interval ? overhead.interval->low : overhead.slow_down;
    if (surely - 1 > input.overhead_budget) {
      collector.causes.push_back(
          {"overhead",
           fmt::format("recording slows the {} by {:.1f}%, more than the budget of {:.1f}%", name(overhead.arm),
                       100 * (overhead.slow_down - 1), 100 * input.overhead_budget),
           "record less ([gpu] counters = \"off\"), or raise [budget] overhead"});
    }
  }
  return std::move(collector.causes);
}

}  // namespace kvet::verdict
