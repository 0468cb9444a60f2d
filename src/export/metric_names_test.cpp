// docs/export.md has the tables of metric_names.cpp, row by row.
#include "export/metric_names.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

namespace kvet::exporting {
namespace {

// The rows of the table with this first line, without the line below it.
std::vector<std::string> table(const std::string& head) {
  std::ifstream file{KVET_SOURCE_DIR "/docs/export.md"};
  std::vector<std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (inside && !line.starts_with("|")) {
      break;
    }
    if (inside && !line.starts_with("| ---")) {
      rows.push_back(line);
    }
    inside = inside || line == head;
  }
  return rows;
}

const char* in_words(MetricKind kind) {
  switch (kind) {
    case MetricKind::gauge: return "gauge";
    case MetricKind::counter: return "counter";
    case MetricKind::up_down_counter: return "up-down counter";
  }
  return "";
}

TEST(ExportDocument, ListsEveryKnownMetric) {
  std::vector<std::string> expected;
  for (const KnownMetric& each : known_metrics()) {
    EXPECT_EQ(&known_metric(each.id), &each) << each.name;  // the table is in the order of the enumeration
    expected.push_back(fmt::format("| `{}` | `{}` | {} | {}| {} |", each.name, each.unit, in_words(each.kind),
                                   each.dcgm.empty() ? "" : fmt::format("`{}` ", each.dcgm), each.description));
  }
  EXPECT_EQ(table("| OTLP | unit | kind | DCGM | what it is |"), expected);
}

TEST(ExportDocument, ListsEveryUnit) {
  std::vector<std::string> expected;
  for (const FindingUnit& each : finding_units()) {
    expected.push_back(fmt::format("| {} | `{}` | {} |", each.unit, each.ucum, each.divisor));
  }
  EXPECT_EQ(table("| unit of the finding | UCUM | divided by |"), expected);
  expected.clear();
  for (const UnitSuffix& each : unit_suffixes()) {
    expected.push_back(fmt::format("| `{}` | `_{}` |", each.ucum, each.suffix));
  }
  EXPECT_EQ(table("| UCUM | ends in |"), expected);
}

// What OpenTelemetry's rules for Prometheus (specification/compatibility/prometheus_and_openmetrics.md) make of the names.
TEST(MetricNames, FollowOpenTelemetrysRulesForPrometheus) {
  EXPECT_EQ(prometheus_metric_name("hw.power", "W", MetricKind::gauge), "hw_power_watts");
  EXPECT_EQ(prometheus_metric_name("hw.gpu.utilization", "1", MetricKind::gauge), "hw_gpu_utilization_ratio");
  EXPECT_EQ(prometheus_metric_name("kvet.kernel.time", "s", MetricKind::counter), "kvet_kernel_time_seconds_total");
  EXPECT_EQ(prometheus_metric_name("kvet.kernel.executions", "{execution}", MetricKind::counter),
            "kvet_kernel_executions_total");
  EXPECT_EQ(prometheus_label_name("hw.driver_version"), "hw_driver_version");
  EXPECT_EQ(prometheus_label_name("kvet.kernel"), "kernel");
  EXPECT_EQ(prometheus_label_name("modelName"), "modelName");
}

TEST(MetricNames, OfFindings) {
  const FindingName lead = finding_name("dispatch.eager.lead.p99", "ns");
  EXPECT_EQ(lead.name, "kvet.dispatch.eager.lead");
  EXPECT_EQ(lead.statistic, "p99");
  EXPECT_EQ(lead.ucum, "s");
  EXPECT_EQ(2'500'000'000.0 / lead.divisor, 2.5);
  const FindingName solo = finding_name("dram.solo.percent", "%");
  EXPECT_EQ(solo.name, "kvet.dram.solo.utilization");
  EXPECT_EQ(solo.statistic, "");
  EXPECT_EQ(50 / solo.divisor, 0.5);
  // 10% for each 100 GB/s is 0.1 for 1e11 bytes/s: 1e-12 for each byte/s.
  EXPECT_DOUBLE_EQ(10 / finding_name("dram.sensitivity", "%/(100 GB/s)").divisor, 1e-12);
  EXPECT_EQ(finding_name("a.b", "furlongs per fortnight").ucum, "{furlongs_per_fortnight}");
}

}  // namespace
}  // namespace kvet::exporting
