#include "questions/distribution.h"

#include <algorithm>

#include "questions/make_finding.h"
#include "questions/statistics.h"

namespace kvet::questions {

void append_distribution(std::vector<Finding>& findings, const DistributionOf& of, std::vector<double>& values) {
  struct Statistic {
    const char *suffix, *words;
    double p;
  };
  static constexpr Statistic statistics[] = {{"p50", "half of all are at most this", 0.5},
                                             {"p90", "90% are at most this", 0.9},
                                             {"p99", "99% are at most this", 0.99},
                                             {"max", "the largest", 1}};
  for (const Statistic& statistic : statistics) {
    const double value = quantile(values, statistic.p);
    Finding finding = found(of.question, of.id + "." + statistic.suffix, of.subject, value, of.unit, of.evidence,
                            values.size(), of.what + ": " + statistic.words);
    finding.beside = of.beside;
    if (of.half_width > 0) {
      finding.interval = Interval{std::max(of.least, value - of.half_width), value + of.half_width};
    }
    findings.push_back(std::move(finding));
  }
}

}  // namespace kvet::questions
