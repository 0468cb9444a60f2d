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
  int64_t rejected = 0;  // as the receiver has it: it may be nonsense
  std::string message;
  bool readable = true;  // false: the body is no protobuf, or was cut; the others are what could be read until there
};
// Of the body of an answer with status 200.
[[nodiscard]] PartialSuccess read_partial_success(std::string_view body);

// Why a receiver took nothing: the message of a google.rpc.Status, which the specification asks for, or the first line of text. Raw.
[[nodiscard]] std::string read_refusal(std::string_view body);

}  // namespace kvet::exporting
