// Collects points under their metrics while these are built.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "export/metric_names.h"
#include "export/metrics.h"

namespace kvet::exporting {

class MetricSet {
 public:
  // Ours and, where there is one and `dcgm` attributes are given, DCGM's. Values that are not finite are left out.
  void add(Known id, std::vector<Attribute> attributes, double value, std::optional<int64_t> time_ns = {});
  void add_dcgm(Known id, std::vector<Attribute> attributes, double value);  // in our unit
  void add_dcgm(std::string_view field, std::string_view description, std::vector<Attribute> attributes, double value);
  void add(const std::string& name, std::string_view ucum, std::string_view description,
           std::vector<Attribute> attributes, double value);

  // In the order in which they came. Points that would be the same get "kvet.ordinal" 2, 3, … to tell them apart.
  std::vector<Metric> finish() &&;

 private:
  void put(Metric metric, Point point);
  std::vector<Metric> metrics_;
  std::map<std::string, size_t> by_prometheus_name_;
};

}  // namespace kvet::exporting
