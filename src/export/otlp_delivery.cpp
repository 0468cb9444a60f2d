#include "export/otlp_delivery.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/safe_text.h"
#include "base/text.h"
#include "export/otlp.h"

namespace kvet::exporting {
namespace {

constexpr std::array<int64_t, 4> pauses_ms{1'000, 2'000, 4'000, 8'000};
constexpr int64_t longest_pause_s = 30;
constexpr size_t message_columns = 300;
// What the request's own body and connection decide: another word for them would break the request, or make two of it.
constexpr std::array<std::string_view, 13> own_headers{
    "content-length", "content-type", "content-encoding", "transfer-encoding", "host",       "connection",
    "expect",         "te",           "trailer",          "upgrade",           "keep-alive", "proxy-connection",
    "content-range"};

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

std::string lower_case(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return out;
}

// RFC 3986, "host [ : port ]". Whether a host of that name is there is not our question.
bool is_host_and_port(std::string_view text) {
  const bool address = text.starts_with('[');  // IPv6
  const size_t end = address ? text.find(']') : text.find(':');
  if (address && end == std::string_view::npos) {
    return false;
  }
  const std::string_view host = address ? text.substr(1, end - 1) : text.substr(0, end);
  std::string_view port = end == std::string_view::npos ? "" : text.substr(end + (address ? 1 : 0));
  const std::string_view foreign = address ? "" : "[]:";
  if (host.empty() || host.find_first_of(foreign) != std::string_view::npos ||
      (address && (host.find(':') == std::string_view::npos ||
                   lower_case(host).substr(0, host.find('%')).find_first_not_of("0123456789abcdef:.") !=
                       std::string_view::npos))) {
    return false;
  }
  if (port.empty()) {
    return true;
  }
  uint16_t number = 0;
  port.remove_prefix(port.starts_with(':') ? 1 : port.size());
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc{} && stop == port.data() + port.size() && number > 0;
}

// Why `url` is no endpoint; "": it is one.
std::string_view fault_of(std::string_view url) {
  const std::string lower = lower_case(url);
  const size_t scheme = lower.starts_with("http://") ? 7 : lower.starts_with("https://") ? 8 : 0;
  if (scheme == 0) {
    return "is no URL that begins with http:// or https://";
  }
  if (std::ranges::any_of(url, [](char letter) {
        return static_cast<unsigned char>(letter) <= ' ' || letter == 0x7f ||
               std::string_view("\"<>\\^`{|}").find(letter) != std::string_view::npos;
      })) {
    return "has a character that no URL has";
  }
  if (url.find_first_of("?#") != std::string_view::npos) {
    return "has a query or a fragment, which /v1/metrics and /v1/traces cannot follow";
  }
  std::string_view authority = url.substr(scheme, url.find('/', scheme) - scheme);
  authority.remove_prefix(authority.rfind('@') + 1);  // npos + 1 is 0
  return is_host_and_port(authority) ? "" : "has no valid host and port";
}

// "https://user:secret@host" may be shown as "https://host".
std::string without_password(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const size_t at = url.substr(0, url.find('/', begin)).rfind('@');
  std::string out{url};
  return at == std::string_view::npos || at < begin ? out : out.erase(begin, at + 1 - begin);
}

std::string refusal_of(const HttpAnswer& answer, size_t times) {
  const std::string reason = safe_text(read_refusal(answer.body), message_columns);
  return fmt::format("answered with status {}{}{}{}", answer.status, times > 1 ? fmt::format(" {} times", times) : "",
                     answer.location.empty()
                         ? ""
                         : ", which leads to " + safe_text(without_password(answer.location), message_columns),
                     reason.empty() ? "" : ": " + reason);
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
  if (const std::string_view fault = fault_of(settings.endpoint); !fault.empty()) {
    return fail(ErrorKind::usage, std::string{fault}, without_password(settings.endpoint),
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
    if (std::ranges::find(own_headers, lower_case(name)) != own_headers.end()) {
      return fail(ErrorKind::usage, fmt::format("has {}, which kvet sets itself", name), "OTEL_EXPORTER_OTLP_HEADERS",
                  "Leave it out");
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

Result<void> OtlpDelivery::send(std::string_view signal, std::string_view body, size_t items) {
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
      if (partial.rejected < 0 || std::cmp_greater(partial.rejected, items)) {
        claim_ = fmt::format("the receiver claims to have rejected {} of a request's {} points and spans",
                             partial.rejected, items);
      } else {
        rejected_ += partial.rejected;
      }
      unreadable_ += partial.readable || partial.rejected > 0 ? 0 : 1;
      message_ = partial.message.empty() ? message_ : safe_text(partial.message, message_columns);
      return {};
    }
    if (!asks_to_come_back(answer->status) || attempt == pauses_ms.size()) {
      return fail(ErrorKind::unavailable, refusal_of(*answer, attempt + 1), without_password(request.url),
                  answer->status >= 300 && answer->status < 400
                      ? "Give the receiver's own address; redirects are not followed"
                      : "Nothing of this request was taken");
    }
    wait_(answer->retry_after_s ? 1'000 * std::min(*answer->retry_after_s, longest_pause_s) : pauses_ms[attempt]);
  }
}

std::string OtlpDelivery::doubts() const {
  std::string out = claim_;
  if (unreadable_ > 0) {
    out += fmt::format("{}the answers to {} requests could not be read: whether all of them was taken is not known",
                       out.empty() ? "" : "; ", unreadable_);
  }
  return out;
}

}  // namespace kvet::exporting
