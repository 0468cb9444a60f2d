#include "export/otlp_delivery.h"

#include <gtest/gtest.h>

#include "export/curl_abi.h"
#include "export/otlp.h"

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>
#endif

namespace kvet::exporting {
namespace {

TEST(OtlpEndpoint, TakesWhatTheEnvironmentHas) {
  const auto endpoint = otlp_endpoint({"http://host:4318/", "api-key=a%3Db%20c, x=1,", "2500", "none"});
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->url, "http://host:4318");
  EXPECT_EQ(endpoint->timeout_ms, 2500);
  const std::vector<std::string> expected{"Content-Type: application/x-protobuf", "Expect:", "api-key: a=b c", "x: 1"};
  EXPECT_EQ(endpoint->headers, expected);
  EXPECT_EQ(otlp_endpoint({"https://host", "", "", ""})->timeout_ms, 10'000);
}

TEST(OtlpEndpoint, RefusesWhatIsNoneAndKeepsSecretsToItself) {
  for (const char* url : {"host:4318", "file:///etc/passwd", "ftp://host", ""}) {
    EXPECT_EQ(otlp_endpoint({url, "", "", ""}).error().kind, ErrorKind::usage) << url;
  }
  for (const char* headers :
       {"secret", "=secret", "a b=secret", "a=secret%0d%0aEvil: 1", "a=secret%4", "a=secret%zz", "a=secret\nx"}) {
    const auto endpoint = otlp_endpoint({"http://host", headers, "", ""});
    ASSERT_FALSE(endpoint) << headers;
    EXPECT_EQ(endpoint.error().message().find("secret"), std::string::npos) << headers;
  }
  for (const char* timeout : {"0", "-1", "1s", "99999999999"}) {
    EXPECT_FALSE(otlp_endpoint({"http://host", "", timeout, ""})) << timeout;
  }
  EXPECT_FALSE(otlp_endpoint({"http://host", "", "", "zstd"}));
  EXPECT_EQ(otlp_endpoint({"ftp://user:secret@host", "", "", ""}).error().subject, "ftp://host");
}

// A receiver that gives these answers in turn, and what was waited between them.
struct Planted {
  std::vector<HttpAnswer> answers;
  std::vector<int64_t> waits;
  std::vector<std::string> urls;
  OtlpDelivery delivery() {
    return {*otlp_endpoint({"http://host", "", "", ""}),
            [this](const HttpRequest& request) -> Result<HttpAnswer> {
              urls.push_back(request.url);
              return answers.at(urls.size() - 1);
            },
            [this](int64_t milliseconds) { waits.push_back(milliseconds); }};
  }
};

TEST(OtlpDelivery, ComesBackWhenAskedTo) {
  Planted planted{{{503, "", 7}, {429, "", 86'400}, {502, "", {}}, {200, "", {}}}, {}, {}};
  EXPECT_TRUE(planted.delivery().send("traces", "body"));
  const std::vector<int64_t> expected{7'000, 30'000,
                                      4'000};  // as said; as said, 30 s at most; the third pause of its own
  EXPECT_EQ(planted.waits, expected);
  EXPECT_EQ(planted.urls, std::vector<std::string>(4, "http://host/v1/traces"));
}

TEST(OtlpDelivery, GivesUp) {
  Planted busy{std::vector<HttpAnswer>(9, {503, "", {}}), {}, {}};
  const auto sent = busy.delivery().send("metrics", "body");
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(busy.urls.size(), 5u);
  const std::vector<int64_t> expected{1'000, 2'000, 4'000, 8'000};
  EXPECT_EQ(busy.waits, expected);
  for (const int64_t status : {301, 400, 401, 404, 500}) {
    Planted refusing{{{status, "", {}}}, {}, {}};
    EXPECT_FALSE(refusing.delivery().send("metrics", "body")) << status;
    EXPECT_EQ(refusing.urls.size(), 1u) << status;
  }
}

TEST(OtlpDelivery, ShowsNoPassword) {
  OtlpDelivery delivery(
      *otlp_endpoint({"http://user:secret@host/a@b", "", "", ""}),
      [](const HttpRequest&) -> Result<HttpAnswer> { return HttpAnswer{404, "", {}}; }, [](int64_t) {});
  EXPECT_EQ(delivery.send("metrics", "").error().subject, "http://host/a@b/v1/metrics");
}

// ExportTracePartialSuccess by hand: field 1 of the response holds field 1 (varint) and field 2 (text).
TEST(OtlpDelivery, CountsWhatWasRejected) {
  Planted planted{{{200, "\x0a\x06\x08\x03\x12\x02no", {}}, {200, "\x0a\x02\x08\x02", {}}, {200, "", {}}}, {}, {}};
  OtlpDelivery delivery = planted.delivery();
  for (int index = 0; index < 3; ++index) {
    EXPECT_TRUE(delivery.send("traces", ""));
  }
  EXPECT_EQ(delivery.rejected(), 5);
  EXPECT_EQ(delivery.last_message(), "no");
}

TEST(PartialSuccess, NonsenseSaysNothing) {
  using namespace std::string_view_literals;
  for (const std::string_view body :
       {"<html>"sv, "\x0a\xff\xff"sv, "\x0a"sv, "\x0a\x02\x08"sv, "\x0a\x03\x12\x7fx"sv, "\0\0"sv}) {
    EXPECT_EQ(read_partial_success(body).rejected, 0);
    EXPECT_EQ(read_partial_success(body).message, "");
  }
  EXPECT_EQ(read_partial_success("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").rejected, -1);
}

#if __has_include(<curl/curl.h>)
TEST(CurlAbi, IsLibcurls) {
  namespace abi = curl_abi;
  EXPECT_EQ(abi::write_data, CURLOPT_WRITEDATA);
  EXPECT_EQ(abi::url, CURLOPT_URL);
  EXPECT_EQ(abi::error_buffer, CURLOPT_ERRORBUFFER);
  EXPECT_EQ(abi::post_fields, CURLOPT_POSTFIELDS);
  EXPECT_EQ(abi::user_agent, CURLOPT_USERAGENT);
  EXPECT_EQ(abi::http_header, CURLOPT_HTTPHEADER);
  EXPECT_EQ(abi::post, CURLOPT_POST);
  EXPECT_EQ(abi::no_signal, CURLOPT_NOSIGNAL);
  EXPECT_EQ(abi::timeout_ms, CURLOPT_TIMEOUT_MS);
  EXPECT_EQ(abi::protocols, 181);  // CURLOPT_PROTOCOLS, which newer headers call deprecated
  EXPECT_EQ(abi::write_function, CURLOPT_WRITEFUNCTION);
  EXPECT_EQ(abi::post_field_size_large, CURLOPT_POSTFIELDSIZE_LARGE);
  EXPECT_EQ(abi::info_response_code, CURLINFO_RESPONSE_CODE);
  EXPECT_EQ(abi::info_retry_after, CURLINFO_RETRY_AFTER);
  EXPECT_EQ(abi::global_default, CURL_GLOBAL_DEFAULT);
  EXPECT_EQ(abi::error_bytes, size_t{CURL_ERROR_SIZE});
  EXPECT_EQ(abi::protocol_http, CURLPROTO_HTTP);
  EXPECT_EQ(abi::protocol_https, CURLPROTO_HTTPS);
  EXPECT_EQ(sizeof(curl_off_t), sizeof(int64_t));
}
#endif

}  // namespace
}  // namespace kvet::exporting
