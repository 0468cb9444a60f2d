#include "export/otlp_delivery.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/text.h"
#include "export/otlp.h"

namespace kvet::exporting {
namespace {

constexpr std::array<int64_t, 4> pauses_ms{1'000, 2'000, 4'000, 8'000};
constexpr int64_t longest_pause_s = 30;

bool asks_to_come_back(int64_t status) { return status == 429 || status == 502 || status == 503 || status == 504; }

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t index = 0; index < text.size(); ++index) {
    char letter = text[index];
    if (letter == '%') {
      unsigned value = 0;
      if (index + 2 >= text.size()) {
        return std::nullopt;
      }
      const char* begin = text.data() + index + 1;
      const auto [end, error] = std::from_chars(begin, begin + 2, value, 16);
      if (error != std::errc{} || end != begin + 2) {
        return std::nullopt;
      }
      letter = static_cast<char>(value);
      index += 2;
    }
    // RFC 9110: no control characters in a field, so none can begin a line of its own.
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) {
      return std::nullopt;
    }
    out += letter;
  }
  return out;
}

// RFC 9110, token.
bool is_token(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(letter) != std::string_view::npos;
  });
}

// "https://user:secret@host" may be shown as "https://host".
std::string without_password(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const size_t at = url.substr(0, url.find('/', begin)).rfind('@');
  std::string out{url};
  return at == std::string_view::npos || at < begin ? out : out.erase(begin, at + 1 - begin);
}

// RFC 1952. Empty: there was no memory.
std::string gzipped(std::string_view body) {
  constexpr int gzip_window = 15 + 16, memory_level = 8;  // zlib.h: 16 more asks for gzip's header
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string out(deflateBound(&stream, body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));  // zlib only reads it
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

}  // namespace

Result<OtlpEndpoint> otlp_endpoint(const OtlpSettings& settings) {
  OtlpEndpoint endpoint;
  endpoint.url = settings.endpoint;
  while (endpoint.url.ends_with('/')) {
    endpoint.url.pop_back();
  }
  if (!endpoint.url.starts_with("http://") && !endpoint.url.starts_with("https://")) {
    return fail(ErrorKind::usage, "is no URL that begins with http:// or https://", without_password(settings.endpoint),
                "Give for example http://127.0.0.1:4318 with --endpoint");
  }
  endpoint.headers = {"Content-Type: application/x-protobuf", "Expect:"};  // no pause before large bodies
  for (const std::string_view pair : split(settings.headers, ',')) {
    if (trimmed(pair).empty()) {
      continue;
    }
    const size_t equals = pair.find('=');
    const std::string_view name = trimmed(pair.substr(0, equals));
    const auto value =
        equals == std::string_view::npos ? std::nullopt : percent_decoded(trimmed(pair.substr(equals + 1)));
    if (!is_token(name) || !value) {
      return fail(ErrorKind::usage, "is not name=value,name=value with percent-encoded values",
                  "OTEL_EXPORTER_OTLP_HEADERS", "");
    }
    endpoint.headers.push_back(fmt::format("{}: {}", name, *value));
  }
  if (const std::string_view timeout = settings.timeout; !timeout.empty()) {
    int64_t milliseconds = 0;
    const auto [end, error] = std::from_chars(timeout.data(), timeout.data() + timeout.size(), milliseconds);
    if (error != std::errc{} || end != timeout.data() + timeout.size() || milliseconds <= 0 ||
        milliseconds > std::numeric_limits<int32_t>::max()) {
      return fail(ErrorKind::usage, "is no number of milliseconds above 0", "OTEL_EXPORTER_OTLP_TIMEOUT", "");
    }
    endpoint.timeout_ms = milliseconds;
  }
  if (settings.compression == "gzip") {
    endpoint.gzip = true;
    endpoint.headers.emplace_back("Content-Encoding: gzip");
  } else if (!settings.compression.empty() && settings.compression != "none") {
    return fail(ErrorKind::usage, "is neither gzip nor none", "OTEL_EXPORTER_OTLP_COMPRESSION", "");
  }
  return endpoint;
}

Result<void> OtlpDelivery::send(std::string_view signal, std::string_view body) {
  std::string compressed;
  if (endpoint_.gzip) {
    compressed = gzipped(body);
    if (compressed.empty()) {
      return fail(ErrorKind::internal, "there is not enough memory to compress a request", "export");
    }
    body = compressed;
  }
  const HttpRequest request{fmt::format("{}/v1/{}", endpoint_.url, signal), endpoint_.headers, body,
                            endpoint_.timeout_ms};
  for (size_t attempt = 0;; ++attempt) {
    const auto answer = post_(request);
    if (!answer) {
      Error error = answer.error();
      error.subject = without_password(request.url);
      return std::unexpected(error);
    }
    if (answer->status >= 200 && answer->status < 300) {
      const PartialSuccess partial = read_partial_success(answer->body);
      rejected_ += std::max<int64_t>(partial.rejected, 0);
      message_ = partial.message.empty() ? message_ : partial.message;
      return {};
    }
    if (!asks_to_come_back(answer->status) || attempt == pauses_ms.size()) {
      return fail(ErrorKind::unavailable,
                  fmt::format("answered with status {}{}", answer->status,
                              attempt > 0 ? fmt::format(" {} times", attempt + 1) : ""),
                  without_password(request.url), "See what the receiver says; nothing of this request was taken");
    }
    wait_(answer->retry_after_s ? 1'000 * std::min(*answer->retry_after_s, longest_pause_s) : pauses_ms[attempt]);
  }
}

}  // namespace kvet::exporting
