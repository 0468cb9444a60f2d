#include "export/metric_set.h"

#include <cmath>
#include <tuple>
#include <utility>

namespace kvet::exporting {

void MetricSet::put(Metric metric, Point point) {
  if (!std::isfinite(point.value)) {
    return;
  }
  const auto [found, is_new] = by_prometheus_name_.emplace(metric.prometheus_name, metrics_.size());
  if (is_new) {
    metrics_.push_back(std::move(metric));
  }
  metrics_[found->second].points.push_back(std::move(point));
}

void MetricSet::add(Known id, std::vector<Attribute> attributes, double value, std::optional<int64_t> time_ns) {
  const KnownMetric& known = known_metric(id);
  put({std::string{known.name},
       prometheus_metric_name(known.name, known.unit, known.kind),
       std::string{known.unit},
       std::string{known.description},
       known.kind,
       Vocabulary::opentelemetry,
       {}},
      {std::move(attributes), value, time_ns});
}

void MetricSet::add_dcgm(Known id, std::vector<Attribute> attributes, double value) {
  const KnownMetric& known = known_metric(id);
  add_dcgm(known.dcgm, known.description, std::move(attributes), value * known.dcgm_factor / known.dcgm_divisor);
}

void MetricSet::add_dcgm(std::string_view field, std::string_view description, std::vector<Attribute> attributes,
                         double value) {
  put({std::string{field}, std::string{field}, "", std::string{description}, MetricKind::gauge, Vocabulary::dcgm, {}},
      {std::move(attributes), value, {}});
}

void MetricSet::add(const std::string& name, std::string_view ucum, std::string_view description,
                    std::vector<Attribute> attributes, double value) {
  put({name,
       prometheus_metric_name(name, ucum, MetricKind::gauge),
       std::string{ucum},
       std::string{description},
       MetricKind::gauge,
       Vocabulary::opentelemetry,
       {}},
      {std::move(attributes), value, {}});
}

std::vector<Metric> MetricSet::finish() && {
  for (Metric& metric : metrics_) {
    std::map<std::tuple<std::vector<Attribute>, std::optional<int64_t>>, unsigned> seen;
    for (Point& point : metric.points) {
      const unsigned ordinal = ++seen[{point.attributes, point.time_ns}];
      if (ordinal > 1) {
        point.attributes.push_back({"kvet.ordinal", std::to_string(ordinal)});
      }
    }
  }
  return std::move(metrics_);
}

}  // namespace kvet::exporting
