// What fits beside each sibling, and how large a block of K may be to fit there.
#include <fmt/core.h>

#include <map>

#include "questions/carve_out.h"
#include "questions/make_finding.h"
#include "questions/occupancy_limits_beside.h"
#include "questions/occupancy_model.h"
#include "questions/occupancy_parts.h"

namespace kvet::questions {
namespace {

constexpr size_t most_siblings = 5;

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

std::string blocks_text(uint32_t count) { return fmt::format("{} block{}", count, count == 1 ? "" : "s"); }

std::string fits_sentence(const char* resident, const char* newcomer, uint32_t count, const Beside& beside,
                          double alone) {
  std::string sentence = fmt::format("Beside {} of {} on an SM, {} of {} still fit{} (alone: {:.0f}), limited by {}.",
                                     blocks_text(count), resident, blocks_text(beside.blocks), newcomer,
                                     beside.blocks == 1 ? "s" : "", alone, names(beside.limiters));
  if (beside.blocks_in_residents_carve_out) {
    sentence += fmt::format(
        " An SM that still has the carve-out recorded for {} takes {}, until it has drained and the driver changed it.",
        resident, *beside.blocks_in_residents_carve_out);
  }
  return sentence;
}

struct Pair {
  const UsualLaunch& usual;
  const KernelShape& other;
  uint32_t count;  // blocks of the sibling that are resident
};

std::string verdict_text(bool holds, const std::string& now) {
  return holds ? fmt::format("now {}: holds", now) : fmt::format("now {}: too much", now);
}

std::string shared_sentence(const Pair& pair, const CoresidentLimit& limit) {
  const KernelShape& shape = pair.usual.shape;
  const uint64_t now = uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes;
  std::string sentence = fmt::format("At most {} of shared memory per block to co-reside with {} of it ({}).",
                                     size_text(limit.shared_bytes), blocks_text(pair.count),
                                     verdict_text(now <= limit.shared_bytes, size_text(now)));
  if (limit.carve_out) {
    sentence += fmt::format(
        " Above {} the SM needs a carve-out of up to {} instead of the sibling's: ask for it in both kernels "
        "(cudaFuncAttributePreferredSharedMemoryCarveout).",
        size_text(limit.shared_bytes_in_carve_out), size_text(*limit.carve_out));
  }
  return sentence;
}

// Three findings: the largest shared memory, registers and threads of a block that finds room beside the sibling's.
void add_coresident_limit(std::vector<Finding>& findings, const KernelSet& kernels, const Pair& pair,
                          const std::string& sibling, uint64_t runs) {
  const KernelShape& shape = pair.usual.shape;
  const CoresidentLimit limit = coresident_limit(pair.usual.limits, shape, pair.other, pair.count);
  const uint64_t threads = uint64_t{block_resources(pair.usual.limits, shape).warps} * threads_per_warp;
  auto add = [&](const char* id, double value, const char* unit, std::string sentence) {
    Finding finding =
        found(Question::occupancy, id, kernels.label, value, unit, Evidence::modelled, runs, std::move(sentence));
    finding.beside = sibling;
    findings.push_back(std::move(finding));
  };
  add("occupancy.coresident_limit.shared", limit.shared_bytes, "bytes", shared_sentence(pair, limit));
  add("occupancy.coresident_limit.registers", limit.registers_per_thread, "registers",
      fmt::format("At most {} registers per thread, with blocks of {} threads, to co-reside with {} of it ({}).",
                  limit.registers_per_thread, threads, blocks_text(pair.count),
                  verdict_text(shape.registers_per_thread <= limit.registers_per_thread,
                               std::to_string(shape.registers_per_thread))));
  add("occupancy.coresident_limit.threads", limit.threads, "threads",
      fmt::format("At most {} threads per block, with {} registers per thread, to co-reside with {} of it ({}).",
                  limit.threads, shape.registers_per_thread, blocks_text(pair.count),
                  verdict_text(threads <= limit.threads, std::to_string(threads))));
}

}  // namespace

void add_beside(std::vector<Finding>& findings, const Capture& capture, const KernelSet& kernels,
                const std::vector<DeviceTimeline>& devices, const UsualLaunch& usual) {
  const std::map<StringId, ShapeId> shape_of = usual_shape(capture);
  for (const SiblingUse& sibling : siblings_at_start(devices, most_siblings)) {
    const KernelShape& other = capture.shapes[shape_of.at(sibling.name).value];
    const auto theirs = theoretical(usual.limits, other, usual.sms);
    if (!theirs || theirs->blocks_per_sm <= 0) {
      continue;  // no block of it fits by these parameters, yet it ran: they are not to be believed
    }
    auto add = [&](const char* id, double value, std::string sentence) {
      Finding finding = found(Question::occupancy, id, kernels.label, value, "blocks", Evidence::modelled, sibling.runs,
                              std::move(sentence));
      finding.beside = capture.text(sibling.name);
      findings.push_back(std::move(finding));
    };
    const uint32_t their_count = resident_blocks(*theirs, other, usual.sms);
    const Beside ours = fits_beside(usual.limits, usual.shape, other, their_count);
    add("occupancy.fits_beside", ours.blocks,
        fits_sentence("it", "this kernel", their_count, ours, usual.theoretical.blocks_per_sm));
    const uint32_t our_count = resident_blocks(usual.theoretical, usual.shape, usual.sms);
    if (our_count > 0) {
      const Beside reverse = fits_beside(usual.limits, other, usual.shape, our_count);
      add("occupancy.sibling_fits", reverse.blocks,
          fits_sentence("this kernel", "it", our_count, reverse, theirs->blocks_per_sm));
    }
    add_coresident_limit(findings, kernels, Pair{usual, other, their_count}, std::string(capture.text(sibling.name)),
                         sibling.runs);
  }
}

}  // namespace kvet::questions
