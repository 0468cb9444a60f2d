// nccl.blame: words around blame.h.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "questions/blame.h"
#include "questions/make_finding.h"

namespace kvet::questions {
namespace {

constexpr uint64_t least_steps = 8;
// That anything at all is blamed where nothing is to blame: shared by all that is tested together (Bonferroni).
constexpr double chance_allowed = 0.01;
// Less than this part of all waiting is not worth a name, however certain.
constexpr double least_part = 0.01;
constexpr size_t causes_listed = 4, ranks_listed = 16;

std::string item_text(const Capture& capture, const PathItem& item) {
  switch (item.kind) {
    case PathItem::Kind::kernel: return capture.text(item.name);
    case PathItem::Kind::beside_collective: return capture.text(item.name) + ", beside a collective";
    case PathItem::Kind::collective: return "another collective";
    case PathItem::Kind::copy: return "copies and fills";
    case PathItem::Kind::host: return "the dispatcher";
    case PathItem::Kind::start_delay: return "start delays";
    case PathItem::Kind::unknown: break;
  }
  return "unknown";
}

std::string advice_for(const PathItem& item) {
  switch (item.kind) {
    case PathItem::Kind::host: return "See the dispatch question for that process: why its thread launched late";
    case PathItem::Kind::beside_collective:
      return "A collective that waits or moves data takes SMs and bandwidth from kernels beside it: who made that one "
             "wait?";
    default: return {};
  }
}

class Words {
 public:
  Words(const Capture& capture, const NcclAnalysis& analysis, double waited)
      : capture_(capture), analysis_(analysis), waited_(waited) {}

  [[nodiscard]] bool proven(const Blamed& blamed, size_t tests) const {
    return blamed.probability <= chance_allowed / static_cast<double>(std::max<size_t>(1, tests)) &&
           blamed.per_step_ns >= least_part * waited_;
  }
  [[nodiscard]] double waited() const { return waited_; }
  [[nodiscard]] const std::string& label(uint32_t rank) const { return analysis_.collectives.ranks[rank].label; }
  [[nodiscard]] std::string caveat() const {
    const std::string steps = analysis_.steps.by == Steps::By::none
                                  ? "each collective taken for a step, since " + analysis_.steps.how
                                  : "steps by " + analysis_.steps.how;
    return fmt::format(" ({}; waits for events of other streams are inferred, not recorded{})", steps,
                       analysis_.all_ranks ? "" : "; not all ranks are known to be in sight");
  }
  [[nodiscard]] std::string text(const PathItem& item) const { return item_text(capture_, item); }

 private:
  const Capture& capture_;
  const NcclAnalysis& analysis_;
  double waited_;  // per step, by all ranks
};

void append_causes(std::vector<Finding>& findings, const Words& words, std::vector<Blamed> all) {
  const size_t tests = all.size();
  std::erase_if(all, [&](const Blamed& one) { return !words.proven(one, tests); });
  std::ranges::stable_sort(all, std::ranges::greater{}, &Blamed::per_step_ns);
  findings.push_back(found(
      Question::nccl, "nccl.blame.causes", all_collectives, static_cast<double>(all.size()), "count",
      Evidence::attributed, tests,
      fmt::format(
          "Kernels, copies and dispatchers that took longer on one rank than on the others, beyond chance, and so "
          "made others wait, of {} compared{}",
          tests, words.caveat())));
  for (size_t index = 0; index < std::min(all.size(), causes_listed); ++index) {
    const Blamed& one = all[index];
    Finding finding = found(
        Question::nccl, "nccl.blame.cause", all_collectives, one.per_step_ns, "ns", Evidence::attributed, one.steps,
        fmt::format(
            "Per step the other ranks wait so long, added up, since {} took longer on {} than on them: {:.0f}% of all "
            "waiting{}",
            words.text(one.item), words.label(one.rank), 100 * one.per_step_ns / words.waited(), words.caveat()));
    finding.interval = one.interval;
    finding.beside = words.text(one.item) + " on " + words.label(one.rank);
    finding.advice = advice_for(one.item);
    findings.push_back(std::move(finding));
  }
}

void append_kernel(std::vector<Finding>& findings, const Words& words, const std::vector<Blamed>& all,
                   const std::string& label) {
  const PathItem own{PathItem::Kind::kernel, {}};
  std::vector<Blamed> of_k;
  std::ranges::copy_if(all, std::back_inserter(of_k), [&](const Blamed& one) { return one.item == own; });
  if (of_k.empty()) {
    for (const char* id : {"nccl.blame", "nccl.blame.share"}) {
      findings.push_back(
          unavailable(Question::nccl, id, label, id == std::string_view{"nccl.blame"} ? "ns" : "%",
                      "this kernel is on no rank's way to a collective, unless beside another collective, which "
                      "slows it: the reverse cause",
                      "Record with its work in the same process as the collectives, and not beside them"));
    }
    return;
  }
  double total = 0, low = 0, high = 0;
  uint64_t steps = 0;
  for (const Blamed& one : of_k) {
    const bool proven = words.proven(one, of_k.size());
    steps = std::max(steps, one.steps);
    total += proven ? one.per_step_ns : 0;
    low += proven ? one.interval.low : 0;
    high += one.interval.high;
    if (one.rank >= ranks_listed) {
      continue;
    }
    Finding finding = found(
        Question::nccl, "nccl.blame", label, proven ? one.per_step_ns : 0, "ns", Evidence::attributed, one.steps,
        (proven
             ? fmt::format("Per step the other ranks wait so long, added up, since this kernel takes longer on {} than "
                           "on them",
                           words.label(one.rank))
             : fmt::format("No blame: on {} this kernel takes no longer than on the other ranks, beyond chance",
                           words.label(one.rank))) +
            words.caveat());
    finding.interval = Interval{proven ? one.interval.low : 0, one.interval.high};
    finding.beside = words.label(one.rank);
    findings.push_back(std::move(finding));
  }
  if (!(words.waited() > 0)) {
    findings.push_back(
        unavailable(Question::nccl, "nccl.blame.share", label, "%", "no rank waited for another", "None is needed"));
    return;
  }
  Finding share = found(
      Question::nccl, "nccl.blame.share", label, std::min(100.0, 100 * total / words.waited()), "%",
      Evidence::attributed, steps,
      fmt::format("Of all waiting for late ranks, {:.1f} µs per step, the part that this kernel is to blame for{}",
                  words.waited() / 1e3, words.caveat()));
  share.interval = Interval{std::min(*share.value, 100 * low / words.waited()),
                            std::clamp(100 * high / words.waited(), *share.value, 100.0)};
  findings.push_back(std::move(share));
}

}  // namespace

void append_blame(std::vector<Finding>& findings, const Capture& capture, const NcclAnalysis& analysis,
                  const KernelSet& kernels) {
  auto missing = [&](const char* id, const std::string& subject, const char* unit, const std::string& reason,
                     const std::string& advice) {
    findings.push_back(unavailable(Question::nccl, id, subject, unit, reason, advice));
  };
  auto no_kernel = [&](const std::string& reason, const std::string& advice) {
    missing("nccl.blame", kernels.label, "ns", reason, advice);
    missing("nccl.blame.share", kernels.label, "%", reason, advice);
  };
  const auto none = no_answer(capture, analysis, kernels);
  if (none && analysis.measured.empty()) {
    no_kernel(none->first, none->second);
    return;
  }
  BlameSums everything(capture), own(capture, &kernels);
  follow(capture, analysis, [&](const Followed& one) {
    everything.add(one);
    own.add(one);
  });
  if (everything.steps() < least_steps) {
    const std::string reason = fmt::format(
        "only {} steps have collectives of all their ranks whose way from the previous one could be followed: it takes "
        "{}",
        everything.steps(), least_steps);
    no_kernel(reason, "Record for longer");
    missing("nccl.blame.causes", all_collectives, "count", reason, "Record for longer");
    return;
  }
  const Words words(capture, analysis, everything.waited_per_step());
  append_causes(findings, words, everything.result(analysis.residual()));
  if (none) {
    no_kernel(none->first, none->second);
  } else {
    append_kernel(findings, words, own.result(analysis.residual()), kernels.label);
  }
}

}  // namespace kvet::questions
