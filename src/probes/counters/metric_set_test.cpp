#include "probes/counters/metric_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace kvet::probes {
namespace {

std::set<std::string> names(const std::vector<Metric>& metrics) {
  std::set<std::string> result;
  for (const Metric& metric : metrics) {
    result.insert(metric.name);
  }
  return result;
}

bool starts_with_any(const std::string& name, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* prefix) { return name.starts_with(prefix); });
}

TEST(MetricSet, TakesThePreferredNameOfEveryFieldWhereAllFit) {
  int questions = 0;
  const auto chosen = choose_metrics([&](const auto&) -> std::optional<size_t> {
    ++questions;
    return 1;
  });
  EXPECT_EQ(chosen.size(), size_t{KVET_COUNTER_FIELDS});
  EXPECT_EQ(questions, 1);
  std::set<int> fields;
  for (const Metric& metric : chosen) {
    fields.insert(metric.field);
  }
  EXPECT_EQ(fields.size(), size_t{KVET_COUNTER_FIELDS});
  EXPECT_EQ(missing_fields(chosen, MetricGroup::detail), "");
}

// As CUPTI 13.0's host interface answers for AD102: no TriageCompute names, but TriageAC; sm__inst_executed takes a
// second pass beside the rest.
TEST(MetricSet, FallsBackToTheNamesThatAChipHas) {
  const auto passes = [](const std::vector<const char*>& list) -> std::optional<size_t> {
    size_t count = 1;
    for (const std::string name : list) {
      if (name.find("TriageCompute") != std::string::npos || name == "tpc__warps_launched_shader_cs.sum") {
        return std::nullopt;
      }
      count += name == "sm__inst_executed.sum" ? 1 : 0;
    }
    return count;
  };
  const auto chosen = names(choose_metrics(passes));
  EXPECT_TRUE(chosen.contains("TPC.TriageAC.tpc__sm_rf_registers_allocated_shader_cs_realtime.sum"));
  EXPECT_TRUE(chosen.contains("TPC.TriageAC.tpc__warps_launched_shader_cs.sum"));
  EXPECT_FALSE(chosen.contains("smsp__warps_launched_total.sum"));  // one per field
  EXPECT_TRUE(chosen.contains("SM_A.TriageAC.sm__inst_executed_realtime.sum"));
  EXPECT_FALSE(chosen.contains("sm__inst_executed.sum"));
}

TEST(MetricSet, WhatDoesNotFitBesideBetterOnesIsLeftOut) {
  // Room for six metrics in a pass: the basic group has five fields, one is left for the flows.
  const auto passes = [](const std::vector<const char*>& list) -> std::optional<size_t> {
    return list.size() > 6 ? 2 : 1;
  };
  const auto chosen = choose_metrics(passes);
  ASSERT_EQ(chosen.size(), 6u);
  EXPECT_EQ(std::count_if(chosen.begin(), chosen.end(), [](const Metric& m) { return m.group == MetricGroup::basic; }),
            5);
  EXPECT_EQ(chosen.back().field, KVET_COUNTER_WARPS_LAUNCHED);
  EXPECT_EQ(missing_fields(chosen, MetricGroup::flows), "blocks_completed, context_switch_cycles");
}

TEST(MetricSet, GroupsCanBeLeftOut) {
  const auto chosen = choose_metrics([](const auto&) -> std::optional<size_t> { return 1; }, MetricGroup::basic);
  EXPECT_EQ(chosen.size(), 5u);
}

TEST(MetricSet, NothingWhereNothingExists) {
  EXPECT_TRUE(choose_metrics([](const auto&) -> std::optional<size_t> { return std::nullopt; }).empty());
}

TEST(MetricSet, SumsOnly) {
  for (const Metric& metric : known_metrics()) {
    const std::string name = metric.name;
    // Ratios take CUPTI twice as long and cannot be added up; .max and .min only where the field means them.
    const bool extreme = metric.field == KVET_COUNTER_CYCLES_ELAPSED || metric.group == MetricGroup::extremes;
    EXPECT_TRUE(extreme ? name.ends_with(".max") || name.ends_with(".min") : name.ends_with(".sum")) << name;
    EXPECT_FALSE(starts_with_any(name, {"TPC.TriageCompute.tpc__warps_active"})) << "wrong by a constant: " << name;
  }
}

}  // namespace
}  // namespace kvet::probes
