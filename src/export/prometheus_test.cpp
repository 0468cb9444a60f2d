#include "export/prometheus.h"

#include <gtest/gtest.h>

namespace kvet::exporting {
namespace {

Metric gauge(std::vector<Point> points) {
  return {"a.b", "a_b", "", "What it is.", MetricKind::gauge, Vocabulary::opentelemetry, std::move(points)};
}

TEST(Prometheus, WritesTheFormat) {
  Metric counter = gauge({{{{"kvet.kind", "x"}}, 3, {}}});
  counter.prometheus_name = "c_total";
  counter.kind = MetricKind::counter;
  EXPECT_EQ(render_prometheus({gauge({{{}, 1.5, {}}}), counter}),
            "# HELP a_b What it is.\n# TYPE a_b gauge\na_b 1.5\n"
            "# HELP c_total What it is.\n# TYPE c_total counter\nc_total{kind=\"x\"} 3\n");
}

// The names of a stranger's kernels. What the format needs escaped: \ " and the line feed; the rest is about who reads it.
TEST(Prometheus, HostileNamesAreHarmless) {
  const auto line = [](const std::string& name) {
    const std::string text = render_prometheus({gauge({{{{"kvet.kernel", name}}, 1, {}}})});
    return text.substr(text.find("\na_b{") + 1);
  };
  EXPECT_EQ(line("a\"b"), "a_b{kernel=\"a\\\"b\"} 1\n");
  EXPECT_EQ(line("a\\b"), "a_b{kernel=\"a\\\\b\"} 1\n");
  EXPECT_EQ(line("a\nb 2\nevil 7"), "a_b{kernel=\"a\\\\nb 2\\\\nevil 7\"} 1\n");
  EXPECT_EQ(line("\x1b[31m"), "a_b{kernel=\"\\\\x1b[31m\"} 1\n");
  EXPECT_EQ(line("<script>"), "a_b{kernel=\"<script>\"} 1\n");
  EXPECT_EQ(line("\xff"), "a_b{kernel=\"\ufffd\"} 1\n");
}

TEST(Prometheus, LongNamesAreCutAndStayDistinct) {
  const std::string half(50'000, 'x');
  const std::string text =
      render_prometheus({gauge({{{{"n", half + "1" + half}}, 1, {}}, {{{"n", half + "2" + half}}, 2, {}}})});
  EXPECT_LT(text.size(), 1'000u);
  EXPECT_NE(text.find("\",ordinal=\"2\"} 2\n"), std::string::npos) << text;
}

TEST(Prometheus, OfASeriesTheLastPointCounts) {
  EXPECT_EQ(render_prometheus({gauge({{{}, 1, 10}, {{}, 2, 20}})}),
            "# HELP a_b What it is.\n# TYPE a_b gauge\na_b 2\n");
}

}  // namespace
}  // namespace kvet::exporting
