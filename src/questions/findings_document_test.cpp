// docs/findings.md lists every id: what a rich capture yields, and what a poor one says that it cannot.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "questions/planted_device.h"

namespace kvet::questions {
namespace {

using Load = PlantedDevice::Load;

void collect(const PlantedDevice& device, std::set<std::string>& ids) {
  const KernelSet set = device.set("^k$");
  for (const auto& findings : {occupancy(device.capture, set), dram(device.capture, set), quality(device.capture),
                               conditions(device.capture, set)}) {
    EXPECT_FALSE(findings.empty());
    for (const Finding& finding : findings) {
      ids.insert(finding.id);
      // What every renderer relies on.
      EXPECT_EQ(finding.value.has_value(), finding.evidence != Evidence::unavailable) << finding.id;
      EXPECT_FALSE(finding.sentence.empty()) << finding.id;
      EXPECT_FALSE(finding.unit.empty()) << finding.id;
      EXPECT_EQ(finding.reason.empty(), finding.evidence != Evidence::unavailable) << finding.id;
      EXPECT_TRUE(finding.evidence != Evidence::unavailable || !finding.advice.empty()) << finding.id;
      if (finding.interval) {
        EXPECT_LE(finding.interval->low, *finding.value) << finding.id;
        EXPECT_GE(finding.interval->high, *finding.value) << finding.id;
      }
    }
  }
}

TEST(FindingsDocument, ListsEveryId) {
  PlantedDevice rich;
  const ShapeId k = rich.kernel("k", 256, 32), sibling = rich.kernel("sibling", 256, 128);
  for (int64_t at = 0; at < 5'000'000; at += 500'000) {
    rich.run(k, 7, at, at + 100'000, Load{.warps = 4000, .read_bytes_per_ns = 10, .registers = 4e6});
    rich.run(k, 7, at + 200'000, at + 400'000, Load{.warps = 2000, .read_bytes_per_ns = 10, .registers = 2e6});
    rich.run(sibling, 8, at + 250'000, at + 350'000, Load{.warps = 1000, .registers = 4e6});
    rich.run(sibling, 8, at + 450'000, at + 480'000).process = {1};
  }
  rich.run(k, 7, 5'000'000, 5'100'000);
  rich.run(k, 7, 5'200'000, 5'300'000).graph_id = 1;
  rich.run(sibling, 8, 5'050'000, 5'080'000).process = {1};
  ApiCall call;
  call.kind = ApiKind::launch_graph;
  call.correlation_id = static_cast<uint32_t>(rich.capture.executions.size()) - 1;
  rich.capture.api_calls.push_back(call);
  rich.capture.losses.push_back({Source::cupti, LossKind::batch_gap, {}, 1, {}, {}});
  rich.capture.meta["overhead.cpu_percent"] = "1";
  rich.capture.meta["source.nvtx"] = "no ranges";
  rich.capture.meta["import.message.1"] = "a warning";
  rich.capture.meta["record.start_ns"] = "1000";
  rich.capture.meta["record.end_ns"] = "5600000";
  rich.capture.devices[0].mig = true;
  rich.capture.contexts.push_back({.sharing = ContextSharing::mps});
  rich.run(sibling, 7, 5'280'000, 5'310'000);
  rich.run(k, 7, 5'305'000, 5'320'000);
  rich.sample(0, 5'500'000, 10'000);
  rich.capture.device_readings = {{.power_milliwatts = 1}, {.time_ns = 10}, {.time_ns = 20}};
  std::set<std::string> ids;
  collect(rich, ids);
  PlantedDevice poor;
  poor.kernel("k");
  collect(poor, ids);

  std::ifstream file{KVET_SOURCE_DIR "/docs/findings.md"};
  std::stringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  for (const std::string& id : ids) {
    // ".read" stands behind its stem in some rows.
    const std::string last = id.substr(id.rfind('.')), stem = id.substr(0, id.rfind('.'));
    const bool whole = document.find("`" + id + "`") != std::string::npos;
    const bool behind =
        document.find("`" + stem + "`") != std::string::npos && document.find("`" + last + "`") != std::string::npos;
    EXPECT_TRUE(whole || behind) << id;
  }
  for (const char* id :
       {"occupancy.time.other_context", "occupancy.solo.parts", "occupancy.corun.own", "occupancy.slow_down",
        "dram.corun.device.percent", "quality.graph_nodes", "quality.loss", "quality.overhead", "device.mig",
        "device.mps_clients", "device.time_sliced", "device.unsampled", "device.lost", "conditions.sm_clock",
        "conditions.time_sliced", "conditions.dependent_launch", "conditions.sampled", "conditions.cut"}) {
    EXPECT_TRUE(ids.contains(id)) << "the capture is not rich enough to show " << id;
  }
}

}  // namespace
}  // namespace kvet::questions
