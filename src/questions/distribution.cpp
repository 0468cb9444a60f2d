#include "questions/distribution.h"

#include <algorithm>
#include <utility>

#include "questions/make_finding.h"
#include "questions/statistics.h"

namespace kvet::questions {

void append_distribution(std::vector<Finding>& findings, const DistributionOf& of, std::vector<double>& values) {
  static constexpr std::pair<const char*, double> statistics[] = {
      {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
  for (const auto& [statistic, p] : statistics) {
    const double value = quantile(values, p);
    Finding finding =
        found(of.question, of.id + "." + statistic, of.subject, value, of.unit, of.evidence, values.size(), of.what);
    finding.beside = of.beside;
    if (of.half_width > 0) {
      finding.interval = Interval{std::max(of.least, value - of.half_width), value + of.half_width};
    }
    findings.push_back(std::move(finding));
  }
}

}  // namespace kvet::questions
