#include "base/kernel_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace kvet {
namespace {

struct Parts {
  size_t qualified = 0;  // where the qualified name begins, behind the return type
  size_t name = 0;       // where the identifier begins
  size_t name_end = 0;   // behind it
  size_t end = 0;        // behind the template arguments: where the parameters begin
  bool found = false;
};

constexpr std::string_view nameless = "(anonymous namespace)";

Parts parts_of(std::string_view text) {
  Parts parts;
  size_t depth = 0;
  size_t angle = std::string_view::npos;  // where the template arguments of the last component begin
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (depth == 0 && text.substr(at).starts_with(nameless)) {
      at += nameless.size() - 1;
      continue;
    }
    if (depth == 0 && c == '(') {
      parts.end = at;
      parts.found = at > parts.name;
      break;
    }
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      angle = depth == 0 && angle == std::string_view::npos ? at : angle;
      ++depth;
    } else if (c == '>' || c == ')' || c == '}' || c == ']') {
      depth -= depth > 0 ? 1 : 0;
    } else if (depth == 0 && c == ' ') {
      parts.qualified = parts.name = at + 1;
      angle = std::string_view::npos;
    } else if (depth == 0 && text.substr(at).starts_with("::")) {
      parts.name = at + 2;
      angle = std::string_view::npos;
      ++at;
    }
  }
  if (!parts.found && depth == 0 && parts.name < text.size()) {  // no parameters were printed
    parts.end = text.size();
    parts.found = true;
  }
  parts.name_end = std::min(angle, parts.end);
  parts.found = parts.found && parts.name_end > parts.name;
  return parts;
}

}  // namespace

std::string_view function_name(std::string_view decoded) {
  const Parts parts = parts_of(decoded);
  return parts.found ? decoded.substr(parts.name, parts.name_end - parts.name) : decoded;
}

std::string instantiation(std::string_view decoded) {
  const Parts parts = parts_of(decoded);
  if (!parts.found) {
    return std::string(decoded);
  }
  constexpr std::array<std::string_view, 8> casts{"(int)",  "(bool)",          "(unsigned int)", "(long)",
                                                  "(char)", "(unsigned long)", "(short)",        "(long long)"};
  std::string out;
  const std::string_view text = decoded.substr(parts.qualified, parts.end - parts.qualified);
  for (size_t at = 0; at < text.size(); ++at) {
    const auto cast =
        std::ranges::find_if(casts, [&](std::string_view one) { return text.substr(at).starts_with(one); });
    if (cast != casts.end()) {
      at += cast->size() - 1;
    } else if (text[at] != ' ') {
      out += text[at];
    }
  }
  return out;
}

}  // namespace kvet
