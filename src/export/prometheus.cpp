#include "export/prometheus.h"

#include <fmt/core.h>

#include <map>
#include <set>
#include <string_view>

#include "base/safe_text.h"
#include "export/metric_names.h"

namespace kvet::exporting {
namespace {

constexpr size_t label_columns = 256;

const char* type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::gauge:
    case MetricKind::up_down_counter: return "gauge";  // which may shrink, as Prometheus' counters may not
    case MetricKind::counter: return "counter";
  }
  return "untyped";
}

// A backslash and a line feed have to be escaped everywhere, quotation marks in label values. safe_text has spelled out
// line feeds, and the backslashes that it wrote are escaped like any other.
std::string escaped(std::string_view raw, bool quotes) {
  std::string out;
  for (const char letter : safe_text_middle(raw, label_columns)) {
    if (letter == '\\' || (quotes && letter == '"')) {
      out += '\\';
    }
    out += letter;
  }
  return out;
}

std::string labels_of(const std::vector<Attribute>& attributes) {
  std::string out;
  for (const Attribute& attribute : attributes) {
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", prometheus_label_name(attribute.name),
                       escaped(attribute.value, true));
  }
  return out;
}

}  // namespace

std::string render_prometheus(const std::vector<Metric>& metrics) {
  std::string out;
  for (const Metric& metric : metrics) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", metric.prometheus_name, escaped(metric.description, false),
                       metric.prometheus_name, type_of(metric.kind));
    std::map<std::vector<Attribute>, double> last;
    for (const Point& point : metric.points) {
      last[point.attributes] = point.value;
    }
    std::set<std::string> written;
    for (const auto& [attributes, value] : last) {
      const std::string cut = labels_of(attributes);
      std::string labels = cut;
      for (int ordinal = 2; !written.insert(labels).second; ++ordinal) {  // long names that became alike
        labels = fmt::format("{},ordinal=\"{}\"", cut, ordinal);
      }
      out += labels.empty() ? fmt::format("{} {}\n", metric.prometheus_name, value)
                            : fmt::format("{}{{{}}} {}\n", metric.prometheus_name, labels, value);
    }
  }
  return out;
}

}  // namespace kvet::exporting
