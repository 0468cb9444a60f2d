// NCCL: how long did collectives wait, on which rank and for whom, and did K get in their way?
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "questions/distribution.h"
#include "questions/make_finding.h"
#include "questions/missing_source.h"
#include "questions/nccl_analysis.h"
#include "questions/nccl_pairs.h"
#include "questions/nccl_parts.h"
#include "questions/questions.h"

namespace kvet::questions {
namespace {

constexpr size_t classes_listed = 4, ranks_listed = 16;
// What there is to say about one rank, over the collectives of one kind and size, or over all.
struct OfRank {
  std::vector<double> call, enqueue, device;
  std::vector<double> wait, transfer, margins;
  double total_wait = 0;
  uint64_t host_known = 0, host_late = 0;
};

class Report {
 public:
  Report(const Capture& capture, const NcclAnalysis& analysis) : capture_(capture), analysis_(analysis) {}
  std::vector<Finding> write();

 private:
  using Wanted = std::function<bool(const CollectiveClass&)>;
  void count_collectives();
  void add_ranks(const std::string& subject, bool with_times, const Wanted& wanted);
  void add_times(const std::string& subject, const std::string& rank, OfRank& of);
  void add_waits(const std::string& subject, const std::string& rank, OfRank& of);
  void add_straggler(const std::string& subject, const std::string& rank, OfRank& of, uint64_t collectives);
  void add_no_waits(const std::string& reason, const std::string& advice);
  void add_kinds();
  void add_matching();

  void add(Finding finding, const std::string& beside = {}) {
    finding.beside = beside;
    findings_.push_back(std::move(finding));
  }
  void distribution(const char* id, const std::string& subject, const std::string& rank, std::string what,
                    std::vector<double>& values, Evidence evidence, double half_width) {
    append_distribution(findings_, {Question::nccl, id, subject, rank, std::move(what), "ns", evidence, half_width, 0},
                        values);
  }
  Evidence evidence() const {
    return analysis_.all_ranks && analysis_.by_communicator ? Evidence::measured : Evidence::attributed;
  }
  double residual() const { return static_cast<double>(analysis_.matches.residual_ns.value_or(0)); }
  std::string caveat() const {
    std::string text;
    text += analysis_.all_ranks ? "" : "; not all ranks are known to be in sight: a lower bound";
    text += analysis_.by_communicator ? "" : "; matched across ranks by order, not by communicator";
    return text;
  }

  const Capture& capture_;
  const NcclAnalysis& analysis_;
  std::vector<Finding> findings_;
};

void Report::count_collectives() {
  const Collectives& all = analysis_.collectives;
  uint64_t executed = 0;
  for (const Sequence& sequence : all.sequences) {
    for (const auto& parts : sequence.ranks) {
      executed += static_cast<uint64_t>(std::ranges::count_if(parts, &Part::executed));
    }
  }
  add(found(
      Question::nccl, "nccl.collectives", all_collectives, static_cast<double>(executed), "count", Evidence::measured,
      executed,
      fmt::format("Collectives that ran on a device, each rank's counted; ranks in sight: {}, NCCL calls seen: {}, "
                  "sends, receives and groups of them: {}",
                  all.ranks.size(), all.calls, all.point_to_point.size())));
  if (!all.point_to_point.empty()) {
    const auto ran = static_cast<uint64_t>(std::ranges::count_if(all.point_to_point, &Part::executed));
    add(found(Question::nccl, "nccl.point_to_point", all_collectives, static_cast<double>(ran), "count",
              Evidence::measured, ran, "Sends, receives and groups of them that ran on a device, each rank's counted"));
  }
}

// What one rank alone can tell: the call, the launch inside it, and the kernel.
void Report::add_times(const std::string& subject, const std::string& rank, OfRank& of) {
  auto times = [&](const char* id, const char* what, std::vector<double>& values, Missing missing) {
    if (missing.advice.empty()) {
      missing.advice = "Record with `kvet record -- CMD` and privileges";
    }
    if (values.empty()) {
      add(unavailable(Question::nccl, id, subject, "ns", missing.reason, missing.advice), rank);
    } else {
      distribution(id, subject, rank, what, values, Evidence::measured, 0);
    }
  };
  const bool pytorch = capture_.fact("import.format") == "PyTorch profiler JSON";
  times("nccl.call", pytorch ? "Time inside PyTorch's operation around the NCCL call" : "Time inside the NCCL call",
        of.call, missing_source(capture_, "nccl", {"NCCL's calls are not recorded in this tier", ""}));
  times("nccl.enqueue", "Time inside the kernel launches that the NCCL call made", of.enqueue,
        missing_source(capture_, "nccl", {"no launch could be joined to an NCCL call", ""}));
  times("nccl.device_time", "Time of the collective's kernel on the device, waiting for other ranks included",
        of.device,
        {"what ran on the device is not recorded in this tier, or the collectives are in graphs that were not replayed",
         ""});
}

void Report::add_waits(const std::string& subject, const std::string& rank, OfRank& of) {
  if (of.wait.empty()) {
    return;
  }
  distribution("nccl.arrival_wait", subject, rank,
               "From the rank's own start to the latest start among the ranks that its result depends on" + caveat(),
               of.wait, evidence(), residual());
  distribution("nccl.transfer", subject, rank, "From that latest start to the rank's own end" + caveat(), of.transfer,
               evidence(), residual());
  add(found(Question::nccl, "nccl.arrival_wait.total", subject, of.total_wait, "ns", evidence(), of.wait.size(),
            "All of the rank's waiting for later ranks" + caveat()),
      rank);
}

void Report::add_straggler(const std::string& subject, const std::string& rank, OfRank& of, uint64_t collectives) {
  if (of.margins.empty()) {
    return;
  }
  const uint64_t last = of.margins.size();
  add(found(Question::nccl, "nccl.straggler.share", subject,
            100.0 * static_cast<double>(last) / static_cast<double>(collectives), "%", evidence(), collectives,
            fmt::format("{} was the last to begin in {} of {} collectives{}", rank, last, collectives, caveat())),
      rank);
  distribution("nccl.straggler.margin", subject, rank,
               "How long all others had begun before it, where it was last" + caveat(), of.margins, evidence(),
               residual());
  if (of.host_known > 0) {
    add(found(Question::nccl, "nccl.straggler.late_call", subject,
              100.0 * static_cast<double>(of.host_late) / static_cast<double>(of.host_known), "%", evidence(),
              of.host_known,
              "Where it was last: how often its NCCL call returned only after all others had begun, so its dispatcher "
              "was "
              "late; in the rest the call was in time, and earlier work on its device was late"),
        rank);
  }
}

void Report::add_ranks(const std::string& subject, bool with_times, const Wanted& wanted) {
  std::vector<OfRank> ranks(analysis_.collectives.ranks.size());
  auto add_part = [&](const Part& part) {
    OfRank& of = ranks[part.rank];
    if (part.call) {
      const CollectiveCall& call = capture_.collective_calls[*part.call];
      of.call.push_back(static_cast<double>(call.end_ns - call.start_ns));
      if (part.enqueue_ns > 0) {
        of.enqueue.push_back(part.enqueue_ns);
      }
    }
    if (part.executed) {
      of.device.push_back(static_cast<double>(part.end_ns - part.start_ns));
    }
  };
  if (with_times) {
    for (const Sequence& sequence : analysis_.collectives.sequences) {
      for (const auto& parts : sequence.ranks) {
        std::ranges::for_each(parts, add_part);
      }
    }
    std::ranges::for_each(analysis_.collectives.point_to_point, add_part);
  }
  for (const Measured& one : analysis_.measured) {
    if (wanted(one.what)) {
      OfRank& of = ranks[one.rank];
      of.wait.push_back(one.wait_ns);
      of.transfer.push_back(one.transfer_ns);
      of.total_wait += one.wait_ns;
    }
  }
  uint64_t collectives = 0;
  for (const Late& late : analysis_.late) {
    if (wanted(late.what)) {
      ++collectives;
      OfRank& of = ranks[late.rank];
      of.margins.push_back(late.margin_ns);
      of.host_known += late.by_host ? 1 : 0;
      of.host_late += late.by_host.value_or(false) ? 1 : 0;
    }
  }
  for (size_t rank = 0; rank < std::min(ranks.size(), ranks_listed); ++rank) {
    const std::string& label = analysis_.collectives.ranks[rank].label;
    if (with_times) {
      add_times(subject, label, ranks[rank]);
    }
    add_waits(subject, label, ranks[rank]);
    add_straggler(subject, label, ranks[rank], collectives);
  }
  if (with_times && ranks.size() > ranks_listed) {
    add(found(Question::nccl, "nccl.ranks_left_out", subject, static_cast<double>(ranks.size() - ranks_listed), "count",
              Evidence::measured, ranks.size(), "Ranks that are not listed"));
  }
}

void Report::add_no_waits(const std::string& reason, const std::string& advice) {
  for (const auto& [id, unit] : {std::pair{"nccl.arrival_wait", "ns"},
                                 {"nccl.transfer", "ns"},
                                 {"nccl.straggler.share", "%"},
                                 {"nccl.clock_residual", "ns"}}) {
    add(unavailable(Question::nccl, id, all_collectives, unit, reason, advice));
  }
}

// Kinds and sizes apart, the ones that took longest first.
void Report::add_kinds() {
  std::map<CollectiveClass, double> time;
  for (const Measured& one : analysis_.measured) {
    time[one.what] += static_cast<double>(one.end_ns - one.start_ns);
  }
  std::vector<std::pair<CollectiveClass, double>> order(time.begin(), time.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  if (order.size() == 1) {
    for (Finding& finding : findings_) {
      finding.subject = fmt::format("{}, {}", all_collectives, to_text(order.front().first));
    }
    return;
  }
  for (size_t index = 0; index < std::min(order.size(), classes_listed); ++index) {
    const CollectiveClass& what = order[index].first;
    add_ranks("collectives: " + to_text(what), false, [&](const CollectiveClass& other) { return other == what; });
  }
}

void Report::add_matching() {
  const MatchResult& matches = analysis_.matches;
  if (matches.residual_ns) {
    add(found(
        Question::nccl, "nccl.clock_residual", all_collectives, residual(), "ns", Evidence::measured,
        matches.collectives.size(),
        "How far apart the ranks' ends of one collective lie (median): the ranks' clocks and the last part of the "
        "transfer together; it is in the intervals of waits"));
  }
  add(found(
      Question::nccl, "nccl.unmatched", all_collectives, static_cast<double>(matches.parts_alone), "count",
      Evidence::measured, matches.parts_alone,
      fmt::format("Parts of collectives without a partner on another rank: at the edges of the recording, or lost; "
                  "sequences left out whole, since their ranks never overlap: {}",
                  matches.sequences_contradictory)));
}

std::vector<Finding> Report::write() {
  const Collectives& all = analysis_.collectives;
  count_collectives();
  if (all.ranks.empty()) {
    return std::move(findings_);
  }
  add_ranks(all_collectives, true, [](const CollectiveClass&) { return true; });
  if (all.ranks.size() == 1) {
    add_no_waits("one rank is in sight, and waiting is for other ranks", record_all_ranks);
  } else if (analysis_.measured.empty()) {
    add_no_waits(capture_.executions.empty() ? "what ran on the device is not recorded in this tier"
                 : analysis_.matches.sequences_contradictory > 0
                     ? "the ranks' collectives could not be matched: they never overlap in time"
                     : "no collective was seen on two ranks",
                 capture_.fact("tier") == "imported" ? merge_the_ranks : record_all_ranks);
  } else {
    add_kinds();
    add_matching();
  }
  return std::move(findings_);
}

}  // namespace

std::vector<Finding> nccl(const Capture& capture, const KernelSet& kernels) {
  const NcclAnalysis analysis = analyse_collectives(capture);
  std::vector<Finding> findings = Report(capture, analysis).write();
  append_point_to_point(findings, analysis);
  append_contention(findings, capture, analysis, kernels);
  append_blame(findings, capture, analysis, kernels);
  append_resident_wait(findings, capture, analysis, kernels);
  append_correlation(findings, capture, analysis, kernels);
  return only_finite(std::move(findings));
}

}  // namespace kvet::questions
