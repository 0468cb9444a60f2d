#include "export/http.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

#include "export/curl_abi.h"

namespace kvet::exporting {

struct CurlFunctions {
  int (*global_init)(long flags) = nullptr;
  void* (*easy_init)() = nullptr;
  int (*easy_setopt)(void* handle, int option, ...) = nullptr;
  int (*easy_perform)(void* handle) = nullptr;
  int (*easy_getinfo)(void* handle, int info, ...) = nullptr;
  void (*easy_reset)(void* handle) = nullptr;
  void (*easy_cleanup)(void* handle) = nullptr;
  const char* (*easy_strerror)(int code) = nullptr;
  void* (*slist_append)(void* list, const char* text) = nullptr;
  void (*slist_free_all)(void* list) = nullptr;
};

namespace {

constexpr size_t most_answer_bytes = 64 * 1024;
// By their names on Debian, Fedora and their relatives; the second is the one built with GnuTLS.
constexpr std::array names{"libcurl.so.4", "libcurl-gnutls.so.4"};

template <class Function>
bool resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool resolve_all(void* library, CurlFunctions& curl) {
  return resolve(library, "curl_global_init", curl.global_init) && resolve(library, "curl_easy_init", curl.easy_init) &&
         resolve(library, "curl_easy_setopt", curl.easy_setopt) &&
         resolve(library, "curl_easy_perform", curl.easy_perform) &&
         resolve(library, "curl_easy_getinfo", curl.easy_getinfo) &&
         resolve(library, "curl_easy_reset", curl.easy_reset) &&
         resolve(library, "curl_easy_cleanup", curl.easy_cleanup) &&
         resolve(library, "curl_easy_strerror", curl.easy_strerror) &&
         resolve(library, "curl_slist_append", curl.slist_append) &&
         resolve(library, "curl_slist_free_all", curl.slist_free_all);
}

// What is beyond the limit is read and thrown away, so that the connection can be used again.
size_t collect(char* bytes, size_t one, size_t count, void* data) {
  auto& body = *static_cast<std::string*>(data);
  body.append(bytes, std::min(one * count, most_answer_bytes - body.size()));
  return one * count;
}

}  // namespace

HttpClient::HttpClient(std::unique_ptr<CurlFunctions> curl, void* handle) : curl_(std::move(curl)), handle_(handle) {}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : curl_(std::move(other.curl_)), handle_(std::exchange(other.handle_, nullptr)) {}

HttpClient::~HttpClient() {
  if (handle_ != nullptr) {
    curl_->easy_cleanup(handle_);
  }
}

Result<HttpClient> HttpClient::open() {
  for (const char* name : names) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);  // never closed: it lives as long as the process
    auto curl = std::make_unique<CurlFunctions>();
    if (library == nullptr || !resolve_all(library, *curl) ||
        curl->global_init(curl_abi::global_default) != curl_abi::ok) {
      continue;
    }
    if (void* handle = curl->easy_init(); handle != nullptr) {
      return HttpClient(std::move(curl), handle);
    }
  }
  return fail(
      ErrorKind::unavailable, "is not installed, and sending over HTTP needs it", "libcurl.so.4",
      "Install it (Debian, Ubuntu: `apt-get install libcurl4`; Fedora: `dnf install libcurl`), or write to a file "
      "with -o");
}

Result<HttpAnswer> HttpClient::post(const HttpRequest& request) {
  namespace abi = curl_abi;
  HttpAnswer answer;
  std::array<char, abi::error_bytes> problem{};
  void* headers = nullptr;
  const char* body = request.body.data();
  for (const std::string& header : request.headers) {
    headers = curl_->slist_append(headers, header.c_str());
  }
  curl_->easy_reset(handle_);
  // The types are those that curl reads with va_arg: long, pointer, curl_off_t.
  curl_->easy_setopt(handle_, abi::url, request.url.c_str());
  curl_->easy_setopt(handle_, abi::protocols, abi::protocol_http | abi::protocol_https);
  curl_->easy_setopt(handle_, abi::no_signal, 1L);
  curl_->easy_setopt(handle_, abi::error_buffer, problem.data());
  curl_->easy_setopt(handle_, abi::user_agent, "kvet");
  curl_->easy_setopt(handle_, abi::http_header, headers);
  curl_->easy_setopt(handle_, abi::post, 1L);
  curl_->easy_setopt(handle_, abi::post_fields, body);  // its length is the next option
  curl_->easy_setopt(handle_, abi::post_field_size_large, static_cast<int64_t>(request.body.size()));
  curl_->easy_setopt(handle_, abi::timeout_ms, static_cast<long>(request.timeout_ms));
  curl_->easy_setopt(handle_, abi::write_function, static_cast<abi::WriteFunction>(collect));
  curl_->easy_setopt(handle_, abi::write_data, static_cast<void*>(&answer.body));
  const int code = curl_->easy_perform(handle_);
  long status = 0;
  int64_t retry_after = 0;
  const char* location = nullptr;  // the handle's
  curl_->easy_getinfo(handle_, abi::info_response_code, &status);
  if (curl_->easy_getinfo(handle_, abi::info_redirect_url, &location) == abi::ok && location != nullptr) {
    answer.location = location;
  }
  const bool retry_known = curl_->easy_getinfo(handle_, abi::info_retry_after, &retry_after) == abi::ok;  // since 7.66
  curl_->easy_reset(handle_);  // it holds pointers into this function
  curl_->slist_free_all(headers);
  if (code != abi::ok) {
    return fail(ErrorKind::unavailable,
                std::string("gave no answer: ") + (problem[0] != 0 ? problem.data() : curl_->easy_strerror(code)),
                request.url, "Is an OTLP receiver listening there for HTTP?");
  }
  answer.status = status;
  if (retry_known && retry_after > 0) {
    answer.retry_after_s = retry_after;
  }
  return answer;
}

}  // namespace kvet::exporting
