// HTTP requests through the system's libcurl, which is loaded when the first is made: a build needs none, and who exports nothing
// over HTTP needs none either.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvet::exporting {

struct HttpRequest {
  std::string url;  // http: or https:
  std::vector<std::string> headers;  // "Name: value"
  std::string_view body;
  int64_t timeout_ms = 10'000;  // for all of it
};

struct HttpAnswer {
  int64_t status = 0;
  std::string body;  // its first 64 KiB
  std::optional<int64_t> retry_after_s;
  std::string location;  // where a 3xx leads to, raw; "": no redirect
};

struct CurlFunctions;

class HttpClient {
 public:
  // unavailable: there is no libcurl; the message says what to install.
  static Result<HttpClient> open();
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) = delete;

  // POST, no redirects. unavailable: no answer came.
  Result<HttpAnswer> post(const HttpRequest& request);

 private:
  explicit HttpClient(std::unique_ptr<CurlFunctions> curl, void* handle);
  std::unique_ptr<CurlFunctions> curl_;
  void* handle_ = nullptr;  // CURL, kept for its connection
};

}  // namespace kvet::exporting
