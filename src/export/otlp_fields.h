// Field numbers of OTLP's messages, as far as kvet writes or reads them. Source: opentelemetry-proto 1.11.0,
// github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto/{common,resource,metrics,trace}/v1/*.proto and
// opentelemetry/proto/collector/{metrics,trace}/v1/*_service.proto. Messages of metrics and traces that nest alike share
// their numbers there, and names here.
#pragma once

#include <cstdint>

namespace kvet::exporting::otlp {

// AnyValue, ArrayValue, KeyValue, InstrumentationScope, Resource
inline constexpr uint32_t any_string = 1, any_integer = 3, any_double = 4, any_array = 5;
inline constexpr uint32_t array_values = 1;
inline constexpr uint32_t key_value_key = 1, key_value_value = 2;
inline constexpr uint32_t scope_name = 1, scope_version = 2;
inline constexpr uint32_t resource_attributes = 1;

// Export…ServiceRequest; Resource{Metrics,Spans}; Scope{Metrics,Spans}
inline constexpr uint32_t request_resources = 1;
inline constexpr uint32_t of_resource_resource = 1, of_resource_scopes = 2;
inline constexpr uint32_t of_scope_scope = 1, of_scope_items = 2;

// Export…ServiceResponse; Export…PartialSuccess
inline constexpr uint32_t response_partial_success = 1;
inline constexpr uint32_t partial_rejected = 1, partial_message = 2;

// Metric; Gauge and Sum; NumberDataPoint
inline constexpr uint32_t metric_name = 1, metric_description = 2, metric_unit = 3, metric_gauge = 5, metric_sum = 7;
inline constexpr uint32_t data_points = 1, sum_temporality = 2, sum_is_monotonic = 3;
inline constexpr int32_t temporality_cumulative = 2;
inline constexpr uint32_t point_start_time = 2, point_time = 3, point_double = 4, point_attributes = 7;

// Span; Status
inline constexpr uint32_t span_trace_id = 1, span_id = 2, span_parent = 4, span_name = 5, span_kind = 6, span_start = 7,
                          span_end = 8, span_attributes = 9, span_status = 15;
inline constexpr uint32_t status_message = 2, status_code = 3;
inline constexpr int32_t status_error = 2;

}  // namespace kvet::exporting::otlp
