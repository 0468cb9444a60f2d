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
  for (const char* url :
       {"http://", "http://[::1", "http://[zz]", "http://[::1]x", "http://host:99999", "http://host:0",
        "http://host:port", "http://a b", "http://host\nEvil: 1", "http://host/?key=1", "http://host#part",
        "http://:4318", "http://user:secret@", "http://a:1:2"}) {
    const auto endpoint = otlp_endpoint({url, "", "", ""});
    ASSERT_FALSE(endpoint) << url;
    EXPECT_EQ(endpoint.error().kind, ErrorKind::usage) << url;
    EXPECT_EQ(endpoint.error().message().find("secret"), std::string::npos) << url;
  }
  for (const char* url : {"HTTP://host:4318", "hTTps://user:word@host/path", "http://[::1]:4318",
                          "http://[fe80::1%eth0]", "http://127.0.0.1:65535"}) {
    EXPECT_TRUE(otlp_endpoint({url, "", "", ""})) << url;
  }
  for (const char* name :
       {"Content-Length", "host", "TRANSFER-ENCODING", "Content-Type", "Connection", "Content-Encoding"}) {
    const auto endpoint = otlp_endpoint({"http://host", std::string(name) + "=1", "", ""});
    ASSERT_FALSE(endpoint) << name;
    EXPECT_EQ(endpoint.error().kind, ErrorKind::usage) << name;
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
  Planted planted{{{503, "", 7, ""}, {429, "", 86'400, ""}, {502, "", {}, ""}, {200, "", {}, ""}}, {}, {}};
  EXPECT_TRUE(planted.delivery().send("traces", "body", 10));
  const std::vector<int64_t> expected{7'000, 30'000,
                                      4'000};  // as said; as said, 30 s at most; the third pause of its own
  EXPECT_EQ(planted.waits, expected);
  EXPECT_EQ(planted.urls, std::vector<std::string>(4, "http://host/v1/traces"));
}

TEST(OtlpDelivery, GivesUp) {
  Planted busy{std::vector<HttpAnswer>(9, {503, "", {}, ""}), {}, {}};
  const auto sent = busy.delivery().send("metrics", "body", 10);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(busy.urls.size(), 5u);
  const std::vector<int64_t> expected{1'000, 2'000, 4'000, 8'000};
  EXPECT_EQ(busy.waits, expected);
  for (const int64_t status : {301, 400, 401, 404, 500}) {
    Planted refusing{{{status, "", {}, ""}}, {}, {}};
    EXPECT_FALSE(refusing.delivery().send("metrics", "body", 10)) << status;
    EXPECT_EQ(refusing.urls.size(), 1u) << status;
  }
}

TEST(OtlpDelivery, ShowsNoPassword) {
  OtlpDelivery delivery(
      *otlp_endpoint({"http://user:secret@host/a@b", "", "", ""}),
      [](const HttpRequest&) -> Result<HttpAnswer> { return HttpAnswer{404, "", {}, ""}; }, [](int64_t) {});
  EXPECT_EQ(delivery.send("metrics", "", 1).error().subject, "http://host/a@b/v1/metrics");
}

// ExportTracePartialSuccess by hand: field 1 of the response holds field 1 (varint) and field 2 (text).
TEST(OtlpDelivery, CountsWhatWasRejected) {
  Planted planted{
      {{200, "\x0a\x06\x08\x03\x12\x02no", {}, ""}, {200, "\x0a\x02\x08\x02", {}, ""}, {200, "", {}, ""}}, {}, {}};
  OtlpDelivery delivery = planted.delivery();
  for (int index = 0; index < 3; ++index) {
    EXPECT_TRUE(delivery.send("traces", "", 10));
  }
  EXPECT_EQ(delivery.rejected(), 5);
  EXPECT_EQ(delivery.last_message(), "no");
}

std::string delimited(char field, const std::string& content) {
  std::string out{field};
  size_t length = content.size();
  for (; length > 0x7f; length >>= 7) {
    out += static_cast<char>((length & 0x7f) | 0x80);
  }
  return out + static_cast<char>(length) + content;
}

// 1000 is e8 07 as a varint.
TEST(PartialSuccess, IsReadAsFarAsItCame) {
  const std::string whole = delimited('\x0a', "\x08\xe8\x07" + delimited('\x12', std::string(100'000, 'm')));
  EXPECT_TRUE(read_partial_success(whole).readable);
  EXPECT_EQ(read_partial_success(whole).message.size(), 100'000u);
  const PartialSuccess cut = read_partial_success(whole.substr(0, size_t{64} * 1024));
  EXPECT_FALSE(cut.readable);
  EXPECT_EQ(cut.rejected, 1000);
  EXPECT_GT(cut.message.size(), 60'000u);
}

TEST(PartialSuccess, NonsenseIsNoConsent) {
  using namespace std::string_view_literals;
  for (const std::string_view body :
       {"<html>"sv, "\x0a\xff\xff"sv, "\x0a"sv, "\x0a\x02\x08"sv, "\x0a\x03\x12\x7fx"sv, "\0\0"sv, "\x0f\x01"sv}) {
    EXPECT_EQ(read_partial_success(body).rejected, 0);
    EXPECT_FALSE(read_partial_success(body).readable);
  }
  for (const std::string_view body :
       {""sv, "\x0a\0"sv, "\x11\1\2\3\4\5\6\7\x08"sv, "\x15\1\2\3\4"sv}) {  // fields of later versions
    EXPECT_EQ(read_partial_success(body).rejected, 0);
    EXPECT_TRUE(read_partial_success(body).readable);
  }
  EXPECT_EQ(read_partial_success("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").rejected, -1);
}

TEST(OtlpDelivery, DoesNotAddUpWhatCannotBe) {
  // 2^63 - 1 twice, -1, 3 of 10 with a message of two lines, and an answer that is none.
  const std::string most = "\x0a\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
  const std::string negative = "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  Planted planted{{{200, most, {}, ""},
                   {200, negative, {}, ""},
                   {200, most, {}, ""},
                   {200, "\x0a\x07\x08\x03\x12\x03y\nz", {}, ""},
                   {200, "<html>", {}, ""}},
                  {},
                  {}};
  OtlpDelivery delivery = planted.delivery();
  for (int index = 0; index < 5; ++index) {
    EXPECT_TRUE(delivery.send("traces", "", 10));
  }
  EXPECT_EQ(delivery.rejected(), 3);
  EXPECT_EQ(delivery.last_message(), "y\\nz");
  EXPECT_NE(delivery.doubts().find("the receiver claims to have rejected 9223372036854775807 of a request's 10"),
            std::string::npos);
  EXPECT_NE(delivery.doubts().find("1 requests could not be read"), std::string::npos);
}

TEST(OtlpDelivery, SaysTheReceiversReason) {
  const auto error = [](HttpAnswer answer) {
    Planted planted{{std::move(answer)}, {}, {}};
    return planted.delivery().send("metrics", "", 1).error().message();
  };
  EXPECT_NE(error({400, "\r\nno \x1b[31mtenant\nsecond", {}, ""}).find("status 400: no \\x1b[31mtenant"),
            std::string::npos);
  EXPECT_EQ(error({400, "first\nsecond", {}, ""}).find("second"), std::string::npos);
  EXPECT_NE(error({401, "\x08\x10\x12\x08no token", {}, ""}).find("status 401: no token"), std::string::npos);
  EXPECT_LT(error({400, std::string(60'000, 'x'), {}, ""}).size(), 1000u);
  const std::string moved = error({301, "", {}, "http://user:secret@other/v1"});
  EXPECT_NE(moved.find("leads to http://other/v1"), std::string::npos) << moved;
  EXPECT_EQ(moved.find("secret"), std::string::npos);
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
  EXPECT_EQ(abi::info_redirect_url, CURLINFO_REDIRECT_URL);
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
