#include "report/markdown.h"

#include <algorithm>

#include "base/safe_text.h"

namespace kvet::report {
namespace {

constexpr std::string_view zero_width_space = "\u200b";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// At its beginning, a line may be a list or a rule.
bool begins_like_markup(std::string_view line) {
  const size_t digits = line.find_first_not_of("0123456789");
  const std::string_view marker = line.substr(0, digits == std::string_view::npos ? 0 : digits + 1);
  const std::string_view rest = line.substr(std::min(marker.size(), line.size()));
  const bool bullet =
      marker == "-" || marker == "+" || (marker.size() > 1 && (marker.back() == '.' || marker.back() == ')'));
  return (bullet && (rest.empty() || rest.front() == ' ')) || line.starts_with("--") || line.starts_with("=");
}

std::string html_text(std::string_view raw) {
  std::string out = safe_text(raw, 1000);
  replace_all(out, "&", "&amp;");
  replace_all(out, "<", "&lt;");
  replace_all(out, ">", "&gt;");
  return out;
}

}  // namespace

std::string markdown_text(std::string_view raw, size_t max_columns) {
  std::string out;
  const std::string safe = safe_text(raw, max_columns);
  for (const char c : safe) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '|': out += "&#124;"; break;
      case '@':
      case '#':
        out += c == '#' ? "\\#" : "@";
        out += zero_width_space;
        break;
      case '\\':
      case '`':
      case '*':
      case '_':
      case '~':
      case '[':
      case ']':
      case '$':  // GitHub sets what stands between two of them as mathematics
        out += '\\';
        out += c;
        break;
      default: out += c;
    }
  }
  replace_all(out, "://", std::string(":") + std::string(zero_width_space) + "//");
  for (const std::string_view www : {"www.", "WWW."}) {
    replace_all(out, www, std::string(www.substr(0, 3)) + std::string(zero_width_space) + ".");
  }
  if (begins_like_markup(out)) {
    out.insert(0, zero_width_space);
  }
  return out;
}

std::string markdown_code(std::string_view raw, size_t max_columns) {
  std::string text = safe_text_middle(raw, max_columns);
  replace_all(text, "`", "\\x60");
  replace_all(text, "|", "\\x7c");
  if (text.find_first_not_of(' ') == std::string::npos) {  // blanks alone would not be seen
    replace_all(text, " ", "\\x20");
  }
  return text.empty() ? "" : "`" + text + "`";
}

std::string markdown_commands(const std::vector<std::string>& commands) {
  std::string out;
  for (const std::string& command : commands) {
    out += "    " + safe_text(command, 1000) + "\n";  // an indented block cannot be ended from inside a line
  }
  return out;
}

std::string markdown_table(const std::vector<std::string>& head, std::string_view right,
                           const std::vector<std::vector<std::string>>& rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string out = "|";
    for (const std::string& cell : cells) {
      out += " " + cell + " |";
    }
    return out + "\n";
  };
  std::string out = line(head) + "|";
  for (size_t i = 0; i < head.size(); ++i) {
    out += i < right.size() && right[i] == '1' ? " ---: |" : " :--- |";
  }
  out += "\n";
  for (const auto& row : rows) {
    out += line(row);
  }
  return out;
}

std::string markdown_details(std::string_view summary, const std::string& body) {
  return "<details><summary>" + html_text(summary) + "</summary>\n\n" + body + "\n</details>\n";
}

}  // namespace kvet::report
