#include "questions/unit_shares.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/quadrature.h"
#include "questions/make_finding.h"
#include "questions/share_cost.h"

namespace kvet::questions {
namespace {

constexpr size_t siblings_reported = 8;

// One figure: the counts that it adds up, and what it is divided by.
struct Unit {
  const char* id;
  const char* unit;
  std::vector<SharedCount> counts;
  enum class Per : uint8_t { second, cycle_of_sm } per;
  double factor;       // counts to the unit
  bool pinned;         // a saturated memory holds the device's total
  const char* causes;  // for the sentence
};

const std::vector<Unit>& units() {
  static const std::vector<Unit> all = {
      {"dram.own", "bytes/s", {SharedCount::dram_read, SharedCount::dram_write}, Unit::Per::second, 1e9, true, "moves"},
      // A sector is 32 bytes (CUDA Binary Utilities and Nsight Compute's documentation alike).
      {"l2.own", "bytes/s", {SharedCount::l2_sectors}, Unit::Per::second, 32e9, true, "looks up in L2"},
      {"instructions.own",
       "instructions/cycle",
       {SharedCount::instructions},
       Unit::Per::cycle_of_sm,
       1,
       false,
       "executes"},
      {"tensor.own",
       "%",
       {SharedCount::tensor_cycles},
       Unit::Per::cycle_of_sm,
       100,
       false,
       "keeps the tensor pipe active"},
  };
  return all;
}

// Everything about one unit, all devices together.
struct Total {
  double own = 0, device = 0, denominator = 0;
  double variance = 0;  // of own, times t²: devices are independent
  double copies = 0, nobody = 0, residual = 0;
  double by_set = 0, by_all_sets = 0, by_progress = 0, by_demand = 0;
  double lag_ns = 0;
  uint64_t samples = 0;
  std::map<StringId, double> siblings;
  double unresolved_ns = 0, sampled_ns = 0;
  // What K's executions count alone, over the same kind of time.
  double alone_cost = 0, alone_variance = 0, alone_denominator = 0;
  bool alone_known = true;
};

double denominator_of(const ShareTable& table, const Unit& unit, double multiprocessors) {
  double sum = 0;
  for (const ShareRow& row : table.rows) {
    if (row.corun_ns <= 0 || !std::ranges::all_of(unit.counts, [&](SharedCount count) {
          return read_count(*row.sample, count).has_value();
        })) {
      continue;
    }
    const auto cycles = plausible_count(row.sample->cycles_elapsed);
    sum += unit.per == Unit::Per::second ? row.corun_ns
           : cycles                      ? *cycles * multiprocessors * row.corun_ns / row.length_ns
                                         : 0;
  }
  return sum;
}

// Solo cost × executions, less what they counted in solo time of overlapped executions, per ns of their co-run time.
void add_alone(Total& total, const Capture& capture, const DramDevice& device, const Unit& unit, SoloCosts& costs) {
  double corun = 0, cost = 0;
  std::map<uint32_t, double> weight;  // by shape: executions' worth of work beside siblings
  for (const Run& run : device.timeline->runs) {
    const ShapeId shape = capture.executions[run.execution].shape;
    if (run.beside_ns <= 0) {
      continue;
    }
    const SoloCosts::Shape& alone = costs.of(shape);
    if (alone.mean_ns <= 0) {
      total.alone_known = false;
      return;
    }
    const auto solo = static_cast<double>(device.timeline->alone.covered(run.from_ns, run.to_ns));
    weight[shape.value] += std::max(0.0, 1 - solo / alone.mean_ns);
    corun += static_cast<double>(run.beside_ns);
  }
  double variance = 0;
  for (const auto& [shape, executions] : weight) {
    for (SharedCount count : unit.counts) {
      const auto& each = costs.of(ShapeId{shape}).cost[static_cast<size_t>(count)];
      if (!each) {
        total.alone_known = false;
        return;
      }
      cost += executions * each->per_execution;
      variance += executions * executions * each->standard_error * each->standard_error;
    }
  }
  total.alone_cost += cost;
  total.alone_variance += variance;
  total.alone_denominator += corun;
}

ShareInput input_for(const DramDevice& device, const Unit& unit, SharedCount count, SoloCosts& costs) {
  ShareInput input;
  // Reads and writes of one sample count together or not at all.
  input.read = [&unit, count](const Sample& sample) -> std::optional<double> {
    for (SharedCount each : unit.counts) {
      if (!read_count(sample, each)) {
        return std::nullopt;
      }
    }
    return read_count(sample, count);
  };
  input.saturated = [&device](const Sample& sample) { return device.reachable.perhaps_saturated(sample); };
  input.pinned = unit.pinned;
  input.copies_read = count == SharedCount::dram_read || count == SharedCount::l2_sectors;
  input.copies_write = count == SharedCount::dram_write || count == SharedCount::l2_sectors;
  input.lagging = count == SharedCount::dram_write;
  input.solo = [&costs, count](ShapeId shape) { return costs.of(shape).cost[static_cast<size_t>(count)]; };
  return input;
}

void add_up(Total& total, const Capture& capture, const ShareTable& table, const ShareEstimate& estimate) {
  total.own += estimate.own;
  total.device += estimate.device;
  total.copies += estimate.copies;
  total.nobody += estimate.nobody + estimate.earlier;
  total.residual += std::abs(estimate.residual) * estimate.device;
  total.by_set += estimate.by_set;
  total.by_all_sets += estimate.by_all_sets;
  total.by_progress += estimate.by_progress;
  total.by_demand += estimate.by_demand;
  total.samples = std::max(total.samples, estimate.samples);
  total.lag_ns = std::max(total.lag_ns, estimate.lag_ns);
  for (const SharePart& part : estimate.parts) {
    const Party& party = table.parties[part.party];
    if (party.kind == PartyKind::unexplained) {
      total.nobody += part.count;
    } else if (!party.own) {
      total.siblings[capture.shapes[party.shape.value].name] += part.count;
    }
  }
}

// Empty where there is a total; else why not.
std::optional<Unknown> total_of(Total& total, const Capture& capture, const std::vector<ShareDevice>& devices,
                                const std::vector<ShareTable>& tables, std::vector<SoloCosts>& costs,
                                const Unit& unit) {
  std::optional<Unknown> why;
  for (size_t i = 0; i < devices.size(); ++i) {
    const DramDevice& device = *devices[i].device;
    if (tables[i].corun_ns <= 0) {
      continue;
    }
    if (devices[i].residency->samples.empty()) {
      why = Unknown{devices[i].residency->reason, devices[i].residency->advice};
      continue;
    }
    std::vector<double> without;
    double own = 0, solo_error = 0, model_error = 0;
    std::vector<ShareEstimate> estimates;
    for (SharedCount count : unit.counts) {
      ShareResult result =
          estimate_shares(capture, device.timeline->device, tables[i], input_for(device, unit, count, costs[i]));
      if (!result.estimate) {
        why = Unknown{result.reason, result.advice};
        break;
      }
      without.resize(std::max(without.size(), result.estimate->without_block.size()));
      for (size_t block = 0; block < result.estimate->without_block.size(); ++block) {
        without[block] += result.estimate->without_block[block];
      }
      own += result.estimate->own;
      solo_error = in_quadrature(solo_error, result.estimate->solo_error);
      model_error += result.estimate->model_error;
      estimates.push_back(std::move(*result.estimate));
    }
    if (estimates.size() < unit.counts.size()) {
      continue;
    }
    for (const ShareEstimate& estimate : estimates) {
      add_up(total, capture, tables[i], estimate);
    }
    const double half = share_half_width(without, own, solo_error).value_or(HUGE_VAL) + model_error;
    total.variance += half * half;
    total.denominator += denominator_of(
        tables[i], unit, static_cast<double>(capture.devices[device.timeline->device.value].multiprocessors));
    total.sampled_ns += tables[i].sampled_ns;
    total.unresolved_ns += tables[i].unresolved_ns;
    if (total.alone_known) {
      add_alone(total, capture, device, unit, costs[i]);
    }
  }
  if (total.denominator > 0) {
    return std::nullopt;
  }
  return why ? why
             : Unknown{"the counter samples of its co-run time do not hold this count",
                       "`kvet doctor` says which counters this device has"};
}

std::string how(const Total& total) {
  std::string text;
  const std::pair<double, const char*> ways[] = {
      {total.by_set, "by regression on resident warps, per sibling set"},
      {total.by_all_sets,
       "by regression on resident warps over all sets, since the set's own samples do not determine it"},
      {total.by_progress, "by the progress of the executions, since a saturated memory gives the same whoever asks"},
      {total.by_demand, "by what the warps would ask for, since a saturated memory gives the same whoever asks"}};
  for (const auto& [count, words] : ways) {
    if (total.device > 0 && count >= 0.005 * total.device) {
      text += fmt::format("{}{:.0f}% {}", text.empty() ? "" : "; ", 100 * count / total.device, words);
    }
  }
  return text.empty() ? "nothing to split" : text;
}

// The cross-check: how far the share lies from what the executions count alone, beyond the noise of both.
struct CrossCheck {
  double widen = 0;
  std::string sentence;
};
CrossCheck cross_check(const Total& total, const Unit& unit, double scale) {
  if (!total.alone_known || !(total.alone_denominator > 0)) {
    return {0, " Not cross-checked: too few executions ran alone."};
  }
  // Per ns of co-run time, both.
  const double own = total.own / total.sampled_ns, alone = total.alone_cost / total.alone_denominator;
  const double half = std::sqrt(total.variance) / total.sampled_ns;
  const double noise = in_quadrature(half, 1.96 * std::sqrt(total.alone_variance) / total.alone_denominator);
  CrossCheck check;
  check.widen = std::max(0.0, std::abs(own - alone) - noise) * total.sampled_ns * scale;
  const double whole = total.device / total.sampled_ns;
  const char* verdict = check.widen == 0 ? "agrees"
                        : own > alone
                            ? "is less: beside siblings an execution causes more than alone"
                            : "is more: beside siblings an execution causes less than alone, or the split is off";
  check.sentence = fmt::format(
      " Cross-check: what an execution {} alone × executions would be {:.1f}% of the device's count, which {}{}.",
      unit.causes, whole > 0 ? 100 * alone / whole : 0.0, verdict,
      check.widen > 0 ? "; the interval is widened by it" : "");
  return check;
}

void add_parts(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels, const Total& total) {
  std::vector<std::pair<double, std::string>> parts;
  for (const auto& [name, count] : total.siblings) {
    parts.emplace_back(count, capture.text(name));
  }
  if (total.copies > 0) {
    parts.emplace_back(total.copies, "copies and memsets");
  }
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.first > b.first; });
  parts.resize(std::min(parts.size(), siblings_reported));
  for (const auto& [count, name] : parts) {
    const double rate = 1e9 * count / total.denominator;
    Finding finding =
        found(Question::dram, "dram.corun.sibling", kernels.label, rate, "bytes/s", Evidence::attributed, total.samples,
              fmt::format("In its co-run time this sibling moves {:.1f} GB/s, {:.1f}% of the device's bytes.",
                          rate / 1e9, 100 * count / total.device));
    finding.beside = name;
    findings.push_back(std::move(finding));
  }
  const double unexplained = 100 * (total.nobody + total.residual) / total.device;
  findings.push_back(found(
      Question::dram, "dram.corun.unexplained", kernels.label, unexplained, "%", Evidence::attributed, total.samples,
      fmt::format(
          "{:.1f}% of the bytes in its co-run time: what the fit left over or had too much before it was scaled "
          "({:.1f}%), and what falls to earlier work or to warps of nobody ({:.1f}%).",
          unexplained, 100 * total.residual / total.device, 100 * total.nobody / total.device)));
}

void add_unit(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels, const Unit& unit,
              const Total& total, double peak_bytes) {
  const double scale = unit.factor / total.denominator;
  const CrossCheck check = cross_check(total, unit, scale);
  const double value = total.own * scale, device = total.device * scale;
  const double share = total.device > 0 ? 100 * total.own / total.device : 0;
  const std::string dram = std::string_view{unit.unit} == "bytes/s"
                               ? fmt::format("{:.1f} of {:.1f} GB/s", value / 1e9, device / 1e9)
                               : fmt::format("{:.3g} of {:.3g} {}", value, device, unit.unit);
  Finding finding =
      found(Question::dram, unit.id, kernels.label, value, unit.unit, Evidence::attributed, total.samples,
            fmt::format(
                "Beside siblings its own part is {}, {:.1f}%; {}.{}{}{}", dram, share, how(total), check.sentence,
                total.lag_ns > 0 ? fmt::format(" Writes follow the warps by about {:.0f} us.", total.lag_ns / 1e3) : "",
                total.unresolved_ns > 0
                    ? fmt::format(" In {:.0f}% of that time its warps are a best guess; the interval says so.",
                                  100 * total.unresolved_ns / total.sampled_ns)
                    : ""));
  const double half = std::sqrt(total.variance) * scale + check.widen;
  if (std::isfinite(half)) {
    finding.interval = Interval{std::max(0.0, value - half), std::max(value, std::min(device, value + half))};
  }
  const bool is_dram = std::string_view{unit.id} == "dram.own";
  const std::optional<Interval> interval = finding.interval;
  findings.push_back(std::move(finding));
  auto again = [&](const char* suffix, double factor, std::string sentence) {
    Finding other = findings.back();
    other.id = std::string{unit.id} + suffix;
    other.value = value * factor;
    other.unit = "%";
    other.sentence = std::move(sentence);
    if (interval) {
      other.interval = scaled(*interval, factor, 0, 1e300);
    }
    findings.push_back(std::move(other));
  };
  if (is_dram && peak_bytes > 0) {
    again(".percent", 100 / peak_bytes,
          fmt::format("That is {:.1f}% of the theoretical peak.", 100 * value / peak_bytes));
  }
  if (is_dram && device > 0) {
    again(".share", 100 / device,
          fmt::format("{:.1f}% of what the device moves in its co-run time is its own.", share));
    add_parts(findings, capture, kernels, total);
  }
}

}  // namespace

void add_shares(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                const std::vector<ShareDevice>& devices, double peak_bytes) {
  std::vector<ShareTable> tables;
  std::vector<SoloCosts> costs;
  std::optional<Unknown> common;
  double corun = 0;
  for (const ShareDevice& each : devices) {
    const DramDevice& device = *each.device;
    tables.push_back(share_table(capture, kernels, *device.timeline, device.samples, *each.residency));
    costs.emplace_back(capture, device.timeline->device, device.samples, device.transfers,
                       write_back_ns(*device.device));
    corun += tables.back().corun_ns;
    if (!device.samples.guard_ns) {
      common = Unknown{device.samples.reason, device.samples.advice};
    }
  }
  if (corun <= 0) {
    common = Unknown{"no sibling ever ran beside it", "see dram.solo"};
  }
  for (const Unit& unit : units()) {
    Total total;
    const auto why = common ? common : total_of(total, capture, devices, tables, costs, unit);
    if (why) {
      findings.push_back(unavailable(Question::dram, unit.id, kernels.label, unit.unit, why->reason, why->advice));
    } else {
      add_unit(findings, capture, kernels, unit, total, peak_bytes);
    }
  }
}

}  // namespace kvet::questions
