// NCCL: how long did collectives wait, on which rank and for whom, and did K get in their way?
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "questions/distribution.h"
#include "questions/make_finding.h"
#include "questions/nccl_parts.h"
#include "questions/questions.h"
#include "questions/spans.h"
#include "questions/statistics.h"

namespace kvet::questions {
namespace {

constexpr const char* everything = "collectives: all";
constexpr size_t classes_listed = 4, ranks_listed = 16;
// Below this the two averages of a comparison say nothing.
constexpr size_t contention_least = 5;

// What is measured of one rank's part in one matched collective.
struct Measured {
  uint32_t rank;
  CollectiveClass what;
  double wait_ns, transfer_ns;
  DeviceId device;
  int64_t start_ns, end_ns;
};
// The rank that came last, of a collective whose ranks all depend on each other.
struct Late {
  uint32_t rank;
  CollectiveClass what;
  double margin_ns;             // before it everybody else had begun
  std::optional<bool> by_host;  // its call returned only after all others had begun
};

struct Analysis {
  Collectives collectives;
  MatchResult matches;
  std::vector<Measured> measured;
  std::vector<Late> late;
  bool all_ranks = true;       // every matched collective had all its ranks in sight
  bool by_communicator = true;  // every matched collective was matched by its number on a communicator
};

void measure(const Matched& matched, Analysis& analysis) {
  for (const Part& part : matched.parts) {
    int64_t latest = part.start_ns;
    for (const Part& other : matched.parts) {
      if (depends_on(part, other)) {
        latest = std::max(latest, other.start_ns);
      }
    }
    const int64_t wait = std::max<int64_t>(0, std::min(part.end_ns, latest) - part.start_ns);
    const int64_t transfer = std::max<int64_t>(0, part.end_ns - latest);
    analysis.measured.push_back({part.rank, part.what, static_cast<double>(wait), static_cast<double>(transfer),
                                 part.device, part.start_ns, part.end_ns});
  }
  if (all_depend(matched.parts.front().what)) {
    const Part* last = nullptr;
    for (const Part& part : matched.parts) {
      last = last == nullptr || part.start_ns > last->start_ns ? &part : last;
    }
    int64_t second = std::numeric_limits<int64_t>::min();
    for (const Part& part : matched.parts) {
      second = &part == last ? second : std::max(second, part.start_ns);
    }
    Late late{last->rank, last->what, static_cast<double>(last->start_ns - second), std::nullopt};
    if (last->call_end_ns && matched.by == Sequence::By::communicator) {
      late.by_host = *last->call_end_ns > second;
    }
    analysis.late.push_back(late);
  }
  analysis.all_ranks = analysis.all_ranks && matched.all_ranks;
  analysis.by_communicator = analysis.by_communicator && matched.by == Sequence::By::communicator;
}

Analysis analyse(const Capture& capture) {
  Analysis analysis;
  analysis.collectives = find_collectives(capture);
  analysis.matches = match_ranks(analysis.collectives);
  for (const Matched& matched : analysis.matches.collectives) {
    measure(matched, analysis);
  }
  return analysis;
}

// What there is to say about one rank, over the collectives of one kind and size, or over all.
struct OfRank {
  std::vector<double> call, enqueue, device;
  std::vector<double> wait, transfer, margins;
  double total_wait = 0;
  uint64_t host_known = 0, host_late = 0;
};

class Report {
 public:
  Report(const Capture& capture, const Analysis& analysis) : capture_(capture), analysis_(analysis) {}
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
  const Analysis& analysis_;
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
      Question::nccl, "nccl.collectives", everything, static_cast<double>(executed), "count", Evidence::measured,
      executed,
      fmt::format("Collectives that ran on a device, each rank's counted; ranks in sight: {}, NCCL calls seen: {}, "
                  "sends and receives, which are not matched across ranks: {}",
                  all.ranks.size(), all.calls, all.point_to_point.size())));
}

// What one rank alone can tell: the call, the launch inside it, and the kernel.
void Report::add_times(const std::string& subject, const std::string& rank, OfRank& of) {
  auto times = [&](const char* id, const char* what, std::vector<double>& values, const char* missing) {
    if (values.empty()) {
      add(unavailable(Question::nccl, id, subject, "ns", missing, "Record with `kvet record -- CMD` and privileges"),
          rank);
    } else {
      distribution(id, subject, rank, what, values, Evidence::measured, 0);
    }
  };
  times("nccl.call", "Time inside the NCCL call", of.call, "NCCL's calls are not recorded in this tier");
  times("nccl.enqueue", "Time inside the kernel launches that the NCCL call made", of.enqueue,
        "no launch could be joined to an NCCL call");
  times("nccl.device_time", "Time of the collective's kernel on the device, waiting for other ranks included",
        of.device,
        "what ran on the device is not recorded in this tier, or the collectives are in graphs that were not replayed");
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
    add(unavailable(Question::nccl, id, everything, unit, reason, advice));
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
      finding.subject = fmt::format("{}, {}", everything, to_text(order.front().first));
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
        Question::nccl, "nccl.clock_residual", everything, residual(), "ns", Evidence::measured,
        matches.collectives.size(),
        "How far apart the ranks' ends of one collective lie (median): the ranks' clocks and the last part of the "
        "transfer together; it is in the intervals of waits"));
  }
  add(found(
      Question::nccl, "nccl.unmatched", everything, static_cast<double>(matches.parts_alone), "count",
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
  const char* all_ranks = "Record the launcher that starts all ranks: `kvet record -- torchrun ...`";
  add_ranks(everything, true, [](const CollectiveClass&) { return true; });
  if (all.ranks.size() == 1) {
    add_no_waits("one rank is in sight, and waiting is for other ranks", all_ranks);
  } else if (analysis_.measured.empty()) {
    add_no_waits(capture_.executions.empty() ? "what ran on the device is not recorded in this tier"
                 : analysis_.matches.sequences_contradictory > 0
                     ? "the ranks' collectives could not be matched: they never overlap in time"
                     : "no collective was seen on two ranks",
                 all_ranks);
  } else {
    add_kinds();
    add_matching();
  }
  return std::move(findings_);
}

// Transfer of collectives that overlap K on the same device, against those that don't: same kind, size and rank.
Finding contention(const Capture& capture, const Analysis& analysis, const KernelSet& kernels) {
  const char* id = "nccl.contention.transfer";
  auto none = [&](std::string reason, std::string advice) {
    return unavailable(Question::nccl, id, kernels.label, "ratio", std::move(reason), std::move(advice));
  };
  for (size_t shape = 0; shape < analysis.collectives.shape_is_nccl.size(); ++shape) {
    if (analysis.collectives.shape_is_nccl[shape] && kernels.contains(ShapeId{static_cast<uint32_t>(shape)})) {
      return none("this kernel is itself a collective", "");
    }
  }
  if (analysis.collectives.ranks.empty()) {
    return none("no collective ran while this was recorded", "");
  }
  if (analysis.measured.empty()) {
    return none("transfer times need collectives that are matched across ranks",
                "Record all ranks: `kvet record -- torchrun ...`");
  }
  std::map<uint32_t, std::vector<Span>> spans;
  for (const Execution& execution : capture.executions) {
    if (kernels.contains(execution.shape)) {
      spans[execution.device.value].push_back({execution.start_ns, execution.end_ns});
    }
  }
  std::map<uint32_t, SpanSet> running;
  for (auto& [device, own] : spans) {
    running.emplace(device, SpanSet{std::move(own)});
  }
  struct Stratum {
    std::vector<double> beside, apart;
  };
  std::map<std::pair<uint32_t, CollectiveClass>, Stratum> strata;
  for (const Measured& one : analysis.measured) {
    const auto k = running.find(one.device.value);
    const bool beside = k != running.end() && k->second.covered(one.start_ns, one.end_ns) > 0;
    Stratum& stratum = strata[{one.rank, one.what}];
    (beside ? stratum.beside : stratum.apart).push_back(one.transfer_ns);
  }
  // Observed ÷ expected, the expected being what the same rank's collectives of the same kind take apart from K. Its
  // variance, by the delta method, has a part from either side.
  double observed = 0, expected = 0, observed_variance = 0, expected_variance = 0;
  uint64_t number = 0;
  for (const auto& [key, stratum] : strata) {
    if (stratum.beside.size() < contention_least || stratum.apart.size() < contention_least) {
      continue;
    }
    auto moments = [](const std::vector<double>& values) {
      double sum = 0, squares = 0;
      for (double value : values) {
        sum += value;
      }
      const double mean = sum / static_cast<double>(values.size());
      for (double value : values) {
        squares += (value - mean) * (value - mean);
      }
      return std::pair{mean, squares / static_cast<double>(values.size() - 1)};
    };
    const double count = static_cast<double>(stratum.beside.size());
    const auto [mean_beside, variance_beside] = moments(stratum.beside);
    const auto [mean_apart, variance_apart] = moments(stratum.apart);
    observed += count * mean_beside;
    expected += count * mean_apart;
    observed_variance += count * variance_beside;
    expected_variance += count * count * variance_apart / static_cast<double>(stratum.apart.size());
    number += stratum.beside.size();
  }
  if (number == 0 || expected <= 0 || observed <= 0) {
    return none(
        fmt::format("it takes at least {} collectives of one kind and size that overlap this kernel and {} that don't",
                    contention_least, contention_least),
        "Record for longer");
  }
  const double ratio = observed / expected;
  const double error = std::sqrt(observed_variance / (observed * observed) + expected_variance / (expected * expected));
  Finding finding = found(Question::nccl, id, kernels.label, ratio, "ratio", Evidence::attributed, number,
                          "Transfer time of collectives that overlap this kernel on their device ÷ of those that "
                          "don't, same rank, kind and size: above 1, "
                          "collectives are slower beside it");
  const double half = t_quantile_975(static_cast<double>(number - 1)) * error;
  finding.interval = Interval{ratio * std::exp(-half), ratio * std::exp(half)};
  return finding;
}

}  // namespace

std::vector<Finding> nccl(const Capture& capture, const KernelSet& kernels) {
  const Analysis analysis = analyse(capture);
  std::vector<Finding> findings = Report(capture, analysis).write();
  findings.push_back(contention(capture, analysis, kernels));
  const bool none = analysis.collectives.ranks.empty();
  auto missing = [&](const char* id, const char* unit, const char* reason) {
    findings.push_back(unavailable(Question::nccl, id, kernels.label, unit,
                                   none ? "no collective ran while this was recorded" : reason, ""));
  };
  missing("nccl.blame", "ns",
          "waits for events between streams are not recorded, so what made a rank late cannot be followed back to this "
          "kernel");
  missing("nccl.resident_wait", "ns", "the residency of a collective's own blocks over time is not measured yet");
  missing("nccl.correlation", "ratio", "it needs the steps of the workload, which are not followed across ranks yet");
  return findings;
}

}  // namespace kvet::questions
