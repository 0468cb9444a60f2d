// A capture as traces: one trace for each step, in it the launches, under these what they executed; and the collective calls.
// What is in no step is in one trace of its process.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/capture.h"

namespace kvet::exporting {

// Where the workload repeats itself: of each process, by begin, disjoint.
struct TraceSteps {
  std::map<uint32_t, std::vector<std::pair<int64_t, int64_t>>> spans;  // [from, to)
  bool host_time = false;  // they are times of launch calls, else times on the device
};

enum class SpanKind : uint8_t { internal = 1, producer = 4, consumer = 5 };  // OTLP's numbers

struct Span {
  std::array<uint8_t, 16> trace_id{};
  std::array<uint8_t, 8> span_id{};
  std::optional<std::array<uint8_t, 8>> parent;
  std::string name;  // raw
  SpanKind kind = SpanKind::internal;
  int64_t start_ns = 0, end_ns = 0;  // end ≥ start
  ProcessId process;
  int32_t failed = 0;  // the call's result, where that is not 0
  std::vector<std::pair<std::string_view, int64_t>> numbers;
  std::vector<std::pair<std::string_view, std::string>> texts;
};

struct SpansSource {
  const Capture* capture = nullptr;
  TraceSteps steps;
  std::function<std::string(std::string_view)> label;  // as in MetricsSource
};

// Calls `take` with each span, a parent before its children, until it returns false. Ids come from the capture's facts and
// the order of its rows: the same file gives the same ids.
void for_each_span(const SpansSource& source, const std::function<bool(const Span&)>& take);

}  // namespace kvet::exporting
