// Text from captures inside XML 1.0.
#pragma once

#include <string>
#include <string_view>

namespace kvet::report {

// For element content and attribute values alike: markup is escaped, control characters are spelled out as safe_text does,
// and what XML 1.0 cannot hold at all (section 2.2, Char) becomes U+FFFD.
[[nodiscard]] std::string xml_text(std::string_view raw, size_t max_columns = 4096);

}  // namespace kvet::report
