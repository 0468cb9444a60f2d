// The sink of the tests, with what counter sampling sends.
#pragma once

#include <vector>

#include "probes/activity/test_sink.h"

namespace kvet::probes {

class CounterTestSink : public TestSink {
 public:
  using TestSink::on;
  void on(const Sample& event) override { samples.push_back(event); }
  void on(const DeviceReading& event) override { device_readings.push_back(event); }
  void on(const ClockMapping& event) override { clock_mappings.push_back(event); }
  void on(const Meta& event) override { metas.push_back(event); }

  [[nodiscard]] const std::string& text(StringId id) const { return strings[id.value]; }

  std::vector<Sample> samples;
  std::vector<DeviceReading> device_readings;
  std::vector<ClockMapping> clock_mappings;
  std::vector<Meta> metas;
};

}  // namespace kvet::probes
