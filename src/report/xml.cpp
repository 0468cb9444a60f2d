#include "report/xml.h"

#include "base/safe_text.h"

namespace kvet::report {

std::string xml_text(std::string_view raw, size_t max_columns) {
  const std::string safe = safe_text(raw, max_columns);
  std::string out;
  for (size_t i = 0; i < safe.size(); ++i) {
    switch (safe[i]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&apos;"; break;
      case '\xef':  // U+FFFE and U+FFFF
        if (safe.compare(i, 3, "\xef\xbf\xbe") == 0 || safe.compare(i, 3, "\xef\xbf\xbf") == 0) {
          out += "\ufffd";
          i += 2;
          break;
        }
        [[fallthrough]];
      default: out += safe[i];
    }
  }
  return out;
}

}  // namespace kvet::report
