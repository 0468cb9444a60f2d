// Sends OTLP request bodies over HTTP (opentelemetry.io/docs/specs/otlp, "OTLP/HTTP"), as often as the receiver asks, up to a bound.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/http.h"

namespace kvet::exporting {

struct OtlpEndpoint {
  std::string url;  // base: "/v1/metrics" and "/v1/traces" follow
  std::vector<std::string> headers;  // "Name: value"
  int64_t timeout_ms = 10'000;  // of one request; the specification's default
  bool gzip = false;
};

// Each as OpenTelemetry's environment variable OTEL_EXPORTER_OTLP_… has it; "": the default.
struct OtlpSettings {
  std::string_view endpoint;
  std::string_view headers;  // "name=value,name=value", values percent-encoded
  std::string_view timeout;  // milliseconds
  std::string_view compression;  // "gzip" or "none"
};
// Errors are usage, and never show a header's value.
Result<OtlpEndpoint> otlp_endpoint(const OtlpSettings& settings);

class OtlpDelivery {
 public:
  using Post = std::function<Result<HttpAnswer>(const HttpRequest&)>;
  using Wait = std::function<void(int64_t milliseconds)>;
  OtlpDelivery(OtlpEndpoint endpoint, Post post, Wait wait)
      : endpoint_(std::move(endpoint)), post_(std::move(post)), wait_(std::move(wait)) {}

  // `signal`: "metrics" or "traces". Asked to come back (429, 502, 503, 504), it does, up to four times: after as long as the
  // receiver says, 30 s at most, else after 1, 2, 4 and 8 s. Errors are unavailable: no answer, or one that is no success.
  // `items`: the points or spans in it, which bounds what can be rejected.
  Result<void> send(std::string_view signal, std::string_view body, size_t items);

  [[nodiscard]] int64_t rejected() const { return rejected_; }  // points and spans that the receiver did not take
  [[nodiscard]] const std::string& last_message() const {
    return message_;
  }  // why, or a warning; safe, one line, "": none
  // What the receiver says and cannot be, and how many answers could not be read; a sentence, "": nothing of that.
  [[nodiscard]] std::string doubts() const;

 private:
  OtlpEndpoint endpoint_;
  Post post_;
  Wait wait_;
  int64_t rejected_ = 0;
  std::string message_, claim_;
  size_t unreadable_ = 0;
};

}  // namespace kvet::exporting
