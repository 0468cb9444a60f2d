// What kvet uses of libcurl, declared by us: numbers and types of its stable binary interface (soname 4; curl/curl.h). Options are
// numbered by their argument: 0 and up a long, 10000 a pointer, 20000 a function, 30000 a 64-bit integer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvet::exporting::curl_abi {

inline constexpr int ok = 0;
inline constexpr long global_default = 3;
inline constexpr size_t error_bytes = 256;

inline constexpr int write_data = 10001, url = 10002, error_buffer = 10010, post_fields = 10015, user_agent = 10018,
                     http_header = 10023, post = 47, no_signal = 99, timeout_ms = 155, protocols = 181,
                     write_function = 20011, post_field_size_large = 30120;
inline constexpr int info_response_code = 0x200000 + 2, info_redirect_url = 0x100000 + 31,
                     info_retry_after = 0x600000 + 57;
inline constexpr long protocol_http = 1, protocol_https = 2;

using WriteFunction = size_t (*)(char* bytes, size_t one, size_t count, void* data);

}  // namespace kvet::exporting::curl_abi
