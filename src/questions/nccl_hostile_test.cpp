// A capture comes from somewhere else: collectives and communicators with every value that the reader lets through. Nothing may
// crash, hang or overflow on it; the sanitizer build tells.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "questions/nccl_planted.h"

namespace kvet::questions {
namespace {

constexpr int64_t limit = 4'000'000'000'000'000'000;  // as the reader allows

TEST(NcclHostile, AnythingInRangeIsAnswered) {
  uint64_t answered = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RanksPlan plan;
    plan.seed = seed;
    plan.steps = 12;
    plan.layers = 2;
    plan.graph = seed % 3 == 0;
    plan.own_stream = seed % 2 == 0;
    plan.spin_rank = seed % 5 == 0 ? 1 : -1;
    PlantedRanks planted = PlantedRanks(plan).run();
    Capture& capture = planted.capture;
    std::mt19937_64 random(seed);
    auto below = [&](uint32_t most) { return static_cast<uint32_t>(random() % most); };
    auto spoil = [&](auto& row) {
      switch (below(5)) {
        case 0: row.start_ns = -limit + below(50); break;
        case 1: row.end_ns = limit - below(50); break;
        case 2: row.start_ns = row.end_ns = limit; break;
        case 3: row.end_ns = row.start_ns; break;
        default: row.start_ns = row.end_ns = below(1000); break;
      }
    };
    auto spoil_some = [&](auto& rows) {
      for (auto& row : rows) {
        if (below(20) == 0) {
          spoil(row);
        }
      }
      std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.start_ns; });
    };
    for (Execution& execution : capture.executions) {
      if (below(30) == 0) {
        execution.process = ProcessId{below(4)};
        execution.device = DeviceId{below(4)};
        execution.shape = ShapeId{below(5)};
        execution.correlation_id = below(100);
        execution.graph_node_id = below(3);
      }
    }
    for (ApiCall& call : capture.api_calls) {
      if (below(30) == 0) {
        call.kind = static_cast<ApiKind>(below(9));
        call.correlation_id = below(100);
        call.captured = below(2) == 0;
      }
    }
    for (CollectiveCall& call : capture.collective_calls) {
      if (below(10) == 0) {
        call.kind = static_cast<CollectiveKind>(below(12));
        call.count = below(2) == 0 ? ~uint64_t{0} : 0;
        call.data_type = static_cast<int32_t>(below(20)) - 2;
        call.peer_or_root = static_cast<int32_t>(random());
      }
    }
    for (Communicator& communicator : capture.communicators) {
      if (below(4) == 0) {
        communicator.rank = static_cast<int32_t>(random());
        communicator.ranks = static_cast<int32_t>(random());
      }
    }
    spoil_some(capture.executions);
    spoil_some(capture.api_calls);
    spoil_some(capture.collective_calls);
    spoil_some(capture.ranges);
    for (const Finding& finding : nccl(capture, planted.set())) {
      ASSERT_EQ(finding.value.has_value(), finding.evidence != Evidence::unavailable) << finding.id;
      ASSERT_TRUE(!finding.value || std::isfinite(*finding.value)) << finding.id;
      ASSERT_TRUE(!finding.interval || (std::isfinite(finding.interval->low) && std::isfinite(finding.interval->high)))
          << finding.id;
      answered += finding.value ? 1 : 0;
    }
  }
  EXPECT_GT(answered, 60u * 10);
}

// docs/findings.md lists every id of this question.
TEST(NcclFindings, AreInTheDocument) {
  std::set<std::string> ids;
  for (bool spin : {false, true}) {
    RanksPlan plan;
    plan.steps = 20;
    plan.slow_rank = 1;
    plan.spin_rank = spin ? 2 : -1;
    const PlantedRanks planted = PlantedRanks(plan).run();
    for (const Finding& finding : nccl(planted.capture, planted.set())) {
      ids.insert(finding.id);
    }
  }
  EXPECT_TRUE(ids.contains("nccl.blame.cause"));
  std::ifstream file{KVET_SOURCE_DIR "/docs/findings.md"};
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& id : ids) {
    const std::string stem = id.substr(0, id.rfind('.')), last = id.substr(id.rfind('.'));
    const bool whole = document.find("`" + id + "`") != std::string::npos;
    const bool behind = document.find("`" + stem + ".*`") != std::string::npos;
    const bool beside =
        document.find("`" + stem + "`") != std::string::npos && document.find("`" + last + "`") != std::string::npos;
    const bool unavailable = document.find("`" + id + ".*`") != std::string::npos;  // then there is no distribution
    EXPECT_TRUE(whole || behind || beside || unavailable) << id;
  }
}

}  // namespace
}  // namespace kvet::questions
