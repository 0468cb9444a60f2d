// Metrics and spans as OTLP request bodies (opentelemetry.io/docs/specs/otlp), in protobuf.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/metrics.h"
#include "export/spans.h"
#include "export/wall_clock.h"

namespace kvet::exporting {

// More points or spans than that are several requests: some 200 KB each.
inline constexpr size_t most_items_per_request = 1000;

// Takes one body, a whole Export…ServiceRequest with `items` points or spans. By protobuf's rules several bodies in a row are
// one message with all of them. An error ends the writing.
using TakeBody = std::function<Result<void>(std::string_view body, size_t items)>;

struct OtlpSource {
  const Capture* capture = nullptr;
  const WallClock* clock = nullptr;
  std::string kvet_version;
};

Result<void> write_otlp_metrics(const OtlpSource& source, const std::vector<Metric>& metrics, const TakeBody& take);
Result<void> write_otlp_spans(const OtlpSource& source, const SpansSource& spans, const TakeBody& take);

// What a receiver said of a request that it took.
struct PartialSuccess {
  int64_t rejected = 0;
  std::string message;
};
// Of the body of an answer with status 200. One that is no protobuf says nothing: then nothing was rejected.
[[nodiscard]] PartialSuccess read_partial_success(std::string_view body);

}  // namespace kvet::exporting
