// nccl.contention: are collectives slower, or later, beside K?
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "questions/make_finding.h"
#include "questions/nccl_analysis.h"
#include "questions/spans.h"

namespace kvet::questions {
namespace {

// Below this the two averages of a comparison say nothing.
constexpr size_t least = 5;

// Of one rank's collectives of one kind and size.
struct Stratum {
  std::vector<double> beside, apart;
};
using Strata = std::map<std::pair<uint32_t, CollectiveClass>, Stratum>;

// Sums over strata: what those beside K took, and what as many of their like take apart from it.
struct Compared {
  double observed = 0, expected = 0, observed_variance = 0, expected_variance = 0;
  uint64_t beside = 0;
};

std::pair<double, double> moments(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (double value : values) {
    sum += value;
  }
  const double mean = sum / static_cast<double>(values.size());
  for (double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return {mean, squares / static_cast<double>(values.size() - 1)};
}

Compared compare(const Strata& strata) {
  Compared result;
  for (const auto& [key, stratum] : strata) {
    if (stratum.beside.size() < least || stratum.apart.size() < least) {
      continue;
    }
    const double count = static_cast<double>(stratum.beside.size());
    const auto [mean_beside, variance_beside] = moments(stratum.beside);
    const auto [mean_apart, variance_apart] = moments(stratum.apart);
    result.observed += count * mean_beside;
    result.expected += count * mean_apart;
    result.observed_variance += count * variance_beside;
    result.expected_variance += count * count * variance_apart / static_cast<double>(stratum.apart.size());
    result.beside += stratum.beside.size();
  }
  return result;
}

// When K ran, by device.
std::map<uint32_t, SpanSet> running(const Capture& capture, const KernelSet& kernels) {
  std::map<uint32_t, std::vector<Span>> spans;
  for (const Execution& execution : capture.executions) {
    if (kernels.contains(execution.shape)) {
      spans[execution.device.value].push_back({execution.start_ns, execution.end_ns});
    }
  }
  std::map<uint32_t, SpanSet> sets;
  for (auto& [device, own] : spans) {
    sets.emplace(device, SpanSet{std::move(own)});
  }
  return sets;
}

struct Both {
  Strata transfer, start_delay;
};

Both strata_of(const Capture& capture, const NcclAnalysis& analysis, const KernelSet& kernels) {
  const auto k = running(capture, kernels);
  Both both;
  for (const Measured& one : analysis.measured) {
    const auto own = k.find(one.device.value);
    const int64_t start = one.start_ns - one.shift_ns, end = one.end_ns - one.shift_ns;
    auto keep = [&](Strata& strata, int64_t from, double value) {
      const bool beside = own != k.end() && own->second.covered(from, end) > 0;
      Stratum& stratum = strata[{one.rank, one.what}];
      (beside ? stratum.beside : stratum.apart).push_back(value);
    };
    keep(both.transfer, start, one.transfer_ns);
    const auto delay = one.execution ? analysis.work[one.rank].start_delay(*one.execution) : std::nullopt;
    if (delay) {
      // K may hold the SMs before the start, and be over by then.
      keep(both.start_delay, start - std::max<int64_t>(0, *delay), static_cast<double>(*delay));
    }
  }
  return both;
}

std::string too_few() {
  return fmt::format("it takes at least {} collectives of one kind and size that overlap this kernel and {} that don't",
                     least, least);
}

Finding transfer_finding(const Compared& all, const std::string& label) {
  const char* id = "nccl.contention.transfer";
  if (all.beside == 0 || !(all.expected > 0 && all.observed > 0)) {
    return unavailable(Question::nccl, id, label, "ratio", too_few(), "Record for longer");
  }
  const double ratio = all.observed / all.expected;
  // By the delta method: the variance has a part from either side.
  const double error = std::sqrt(all.observed_variance / (all.observed * all.observed) +
                                 all.expected_variance / (all.expected * all.expected));
  Finding finding = found(Question::nccl, id, label, ratio, "ratio", Evidence::attributed, all.beside,
                          "Transfer time of collectives that overlap this kernel on their device ÷ of those that "
                          "don't, same rank, kind and size: above 1, "
                          "collectives are slower beside it");
  const double half = t_quantile_975(static_cast<double>(all.beside - 1)) * error;
  finding.interval = Interval{ratio * std::exp(-half), ratio * std::exp(half)};
  return finding;
}

Finding start_delay_finding(const Compared& all, const std::string& label) {
  const char* id = "nccl.contention.start_delay";
  if (all.beside == 0) {
    return unavailable(Question::nccl, id, label, "ns", too_few() + ", with their launches recorded",
                       "Record for longer");
  }
  const double count = static_cast<double>(all.beside);
  const double difference = (all.observed - all.expected) / count;
  Finding finding = found(Question::nccl, id, label, difference, "ns", Evidence::attributed, all.beside,
                          "How much later collectives start that this kernel runs beside on their device, from being "
                          "ready (end of the work before them "
                          "in the stream, return of their launch, or end of the work of another stream that they are "
                          "taken to wait for) to their "
                          "start, than those of the same rank, kind and size that it doesn't");
  const double half = t_quantile_975(count - 1) * std::sqrt(all.observed_variance + all.expected_variance) / count;
  finding.interval = Interval{difference - half, difference + half};
  return finding;
}

}  // namespace

void append_contention(std::vector<Finding>& findings, const Capture& capture, const NcclAnalysis& analysis,
                       const KernelSet& kernels) {
  if (const auto none = no_answer(capture, analysis, kernels)) {
    for (const auto& [id, unit] :
         {std::pair{"nccl.contention.transfer", "ratio"}, {"nccl.contention.start_delay", "ns"}}) {
      findings.push_back(unavailable(Question::nccl, id, kernels.label, unit, none->first, none->second));
    }
    return;
  }
  const Both both = strata_of(capture, analysis, kernels);
  findings.push_back(transfer_finding(compare(both.transfer), kernels.label));
  findings.push_back(start_delay_finding(compare(both.start_delay), kernels.label));
}

}  // namespace kvet::questions
