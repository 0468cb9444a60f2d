#include "export/otlp.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "base/safe_text.h"
#include "export/device_metrics.h"
#include "export/otlp_fields.h"

namespace kvet::exporting {
namespace {

using protozero::pbf_writer;

constexpr size_t value_columns = 4096, name_columns = 256;

void add_text(pbf_writer& parent, uint32_t field, std::string_view key, std::string_view value) {
  pbf_writer pair(parent, field);
  pair.add_string(otlp::key_value_key, key.data(), key.size());
  pbf_writer any(pair, otlp::key_value_value);
  any.add_string(otlp::any_string, safe_text(value, value_columns));
}

void add_integer(pbf_writer& parent, uint32_t field, std::string_view key, int64_t value) {
  pbf_writer pair(parent, field);
  pair.add_string(otlp::key_value_key, key.data(), key.size());
  pbf_writer any(pair, otlp::key_value_value);
  any.add_int64(otlp::any_integer, value);
}

void add_known(pbf_writer& resource, std::string_view key, std::string_view value) {
  if (!value.empty()) {
    add_text(resource, otlp::resource_attributes, key, value);
  }
}

// OpenTelemetry's conventions for service, host and process; the GPUs of the capture under kvet's own name.
std::string resource_of(const OtlpSource& source, const Process* process) {
  const Capture& capture = *source.capture;
  std::string bytes;
  pbf_writer resource(bytes);
  const std::string_view name = process != nullptr ? capture.text(process->name) : std::string_view{"kvet"};
  add_text(resource, otlp::resource_attributes, "service.name", name.empty() ? "unknown_service" : name);
  add_known(resource, "host.name", capture.fact("hostname"));
  if (process != nullptr) {
    add_integer(resource, otlp::resource_attributes, "process.pid", process->pid);
    add_known(resource, "process.executable.name", name);
  }
  if (!capture.devices.empty()) {
    pbf_writer pair(resource, otlp::resource_attributes);
    pair.add_string(otlp::key_value_key, "kvet.gpu.ids");
    pbf_writer any(pair, otlp::key_value_value);
    pbf_writer array(any, otlp::any_array);
    for (uint32_t id = 0; id < capture.devices.size(); ++id) {
      pbf_writer element(array, otlp::array_values);
      element.add_string(otlp::any_string, hardware_id(capture, DeviceId{id}));
    }
  }
  return bytes;
}

// One resource and scope with encoded metrics or spans, as the request holds it.
void add_resource(pbf_writer& request, const OtlpSource& source, const Process* process,
                  const std::vector<std::string>& items) {
  pbf_writer of_resource(request, otlp::request_resources);
  of_resource.add_message(otlp::of_resource_resource, resource_of(source, process));
  pbf_writer of_scope(of_resource, otlp::of_resource_scopes);
  {
    pbf_writer scope(of_scope, otlp::of_scope_scope);
    scope.add_string(otlp::scope_name, "kvet");
    scope.add_string(otlp::scope_version, source.kvet_version);
  }
  for (const std::string& item : items) {
    of_scope.add_message(otlp::of_scope_items, item);
  }
}

void add_point(pbf_writer& data, const OtlpSource& source, const Metric& metric, const Point& point) {
  pbf_writer out(data, otlp::data_points);
  if (metric.kind != MetricKind::gauge) {
    out.add_fixed64(otlp::point_start_time, source.clock->unix_ns(source.clock->begin_ns()));
  }
  out.add_fixed64(otlp::point_time, source.clock->unix_ns(point.time_ns.value_or(source.clock->end_ns())));
  out.add_double(otlp::point_double, point.value);
  for (const Attribute& attribute : point.attributes) {
    add_text(out, otlp::point_attributes, attribute.name, attribute.value);
  }
}

// A metric with its points from `begin` to `end`.
std::string metric_message(const OtlpSource& source, const Metric& metric, size_t begin, size_t end) {
  std::string message;
  pbf_writer out(message);
  out.add_string(otlp::metric_name, metric.name);
  out.add_string(otlp::metric_description, metric.description);
  out.add_string(otlp::metric_unit, metric.unit);
  const bool gauge = metric.kind == MetricKind::gauge;
  pbf_writer data(out, gauge ? otlp::metric_gauge : otlp::metric_sum);
  for (size_t index = begin; index < end; ++index) {
    add_point(data, source, metric, metric.points[index]);
  }
  if (!gauge) {
    data.add_enum(otlp::sum_temporality, otlp::temporality_cumulative);
    data.add_bool(otlp::sum_is_monotonic, metric.kind == MetricKind::counter);
  }
  data.commit();
  return message;
}

std::string span_message(const OtlpSource& source, const Span& span) {
  const auto bytes = [](pbf_writer& writer, uint32_t field, const auto& id) {
    writer.add_bytes(field, reinterpret_cast<const char*>(id.data()), id.size());
  };
  std::string message;
  pbf_writer out(message);
  bytes(out, otlp::span_trace_id, span.trace_id);
  bytes(out, otlp::span_id, span.span_id);
  if (span.parent) {
    bytes(out, otlp::span_parent, *span.parent);
  }
  const std::string name = safe_text_middle(span.name, name_columns);
  out.add_string(otlp::span_name, name.empty() ? "unnamed" : name);  // OTLP: an empty name is no name
  out.add_enum(otlp::span_kind, static_cast<int32_t>(span.kind));
  out.add_fixed64(otlp::span_start, source.clock->unix_ns(span.start_ns));
  out.add_fixed64(otlp::span_end, source.clock->unix_ns(span.end_ns));
  for (const auto& [key, value] : span.numbers) {
    add_integer(out, otlp::span_attributes, key, value);
  }
  for (const auto& [key, value] : span.texts) {
    add_text(out, otlp::span_attributes, key, value);
  }
  if (span.failed != 0) {
    pbf_writer status(out, otlp::span_status);
    status.add_string(otlp::status_message, fmt::format("result {}", span.failed));
    status.add_enum(otlp::status_code, otlp::status_error);
  }
  return message;
}

}  // namespace

Result<void> write_otlp_metrics(const OtlpSource& source, const std::vector<Metric>& metrics, const TakeBody& take) {
  std::vector<std::string> items;
  size_t count = 0;
  const auto flush = [&]() -> Result<void> {
    std::string body;
    pbf_writer request(body);
    add_resource(request, source, nullptr, items);
    items.clear();
    return take(body, std::exchange(count, 0));
  };
  for (const Metric& metric : metrics) {
    if (metric.vocabulary != Vocabulary::opentelemetry) {
      continue;
    }
    for (size_t begin = 0; begin < metric.points.size();) {
      const size_t end = std::min(metric.points.size(), begin + most_items_per_request - count);
      items.push_back(metric_message(source, metric, begin, end));
      count += end - begin;
      begin = end;
      if (count == most_items_per_request) {
        if (auto taken = flush(); !taken) {
          return taken;
        }
      }
    }
  }
  return count > 0 ? flush() : Result<void>{};
}

Result<void> write_otlp_spans(const OtlpSource& source, const SpansSource& spans, const TakeBody& take) {
  std::map<uint32_t, std::vector<std::string>> items;  // by process: each is a resource of its own
  size_t count = 0;
  Result<void> done;
  const auto flush = [&] {
    std::string body;
    pbf_writer request(body);
    for (const auto& [process, encoded] : items) {
      add_resource(request, source, &source.capture->processes[process], encoded);
    }
    items.clear();
    done = take(body, std::exchange(count, 0));
  };
  for_each_span(spans, [&](const Span& span) {
    items[span.process.value].push_back(span_message(source, span));
    if (++count == most_items_per_request) {
      flush();
    }
    return done.has_value();
  });
  if (done && count > 0) {
    flush();
  }
  return done;
}

}  // namespace kvet::exporting
