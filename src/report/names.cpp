#include "report/names.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include "base/demangle.h"
#include "base/safe_text.h"

namespace kvet::report {
namespace {

constexpr size_t none = std::string_view::npos;
constexpr size_t longest_name = 16 * 1024;

// The symbols behind the word "operator" are no brackets: operator<, operator->, operator(). Returns how many there are.
size_t operator_symbols(std::string_view text, size_t at) {
  constexpr std::string_view word = "operator";
  if (text.substr(0, at).ends_with(word)) {
    if (text.substr(at).starts_with("()") || text.substr(at).starts_with("[]")) {
      return 2;
    }
    return std::min(text.find_first_not_of("<>=-*", at), text.size()) - at;
  }
  return 0;
}

// Calls visit(position, depth) for every character, with the number of brackets it stands in (those of the bracket
// itself not counted). False: brackets do not match, so the text is no C++ name.
template <class Visit>
bool walk(std::string_view text, Visit visit) {
  std::string open;
  for (size_t at = 0; at < text.size(); ++at) {
    if (const size_t skip = operator_symbols(text, at); skip > 0) {
      at += skip - 1;
      continue;
    }
    const char c = text[at];
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      visit(at, open.size());
      open += c;
      continue;
    }
    if (c == '>' && (open.empty() || open.back() != '<')) {
      continue;  // an arrow, or "greater than" in an expression: those stand in parentheses
    }
    if (c == '>' || c == ')' || c == '}' || c == ']') {
      const char partner = c == '>' ? '<' : c == ')' ? '(' : c == '}' ? '{' : '[';
      if (open.empty() || open.back() != partner) {
        return false;
      }
      open.pop_back();
    }
    visit(at, open.size());
  }
  return open.empty();
}

// One part of a qualified name: head<arguments>tail.
struct Component {
  std::string_view head, arguments, tail;
  bool has_arguments = false;
};

// The parts between "::". Empty where the text is no C++ name.
std::vector<Component> components(std::string_view text) {
  std::vector<Component> parts;
  size_t begin = 0, less = none, greater = none;
  auto close = [&](size_t end) {
    Component part;
    if (less != none && greater != none) {
      part = {text.substr(begin, less - begin), text.substr(less + 1, greater - less - 1),
              text.substr(greater + 1, end - greater - 1), true};
    } else {
      part.head = text.substr(begin, end - begin);
    }
    parts.push_back(part);
    less = greater = none;
  };
  const bool whole = walk(text, [&](size_t at, size_t depth) {
    if (depth != 0) {
      return;
    }
    if (text[at] == '<' && less == none) {
      less = at;
    } else if (text[at] == '>' && greater == none) {
      greater = at;
    } else if (text[at] == ':' && at + 1 < text.size() && text[at + 1] == ':' && at >= begin) {
      close(at);
      begin = at + 2;
    }
  });
  if (!whole) {
    return {};
  }
  close(text.size());
  return parts;
}

std::string_view trim_spaces(std::string_view text) {
  while (text.starts_with(' ')) {
    text.remove_prefix(1);
  }
  while (text.ends_with(' ')) {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  walk(text, [&](size_t at, size_t depth) {
    if (depth == 0 && text[at] == ',') {
      parts.push_back(trim_spaces(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  });
  parts.push_back(trim_spaces(text.substr(begin)));
  return parts;
}

bool anonymous(std::string_view head) { return head == "(anonymous namespace)"; }

// "void ns::f<int>(float*) [clone .x]" gives "ns::f<int>". What does not look like a C++ function comes back whole.
std::string_view without_signature(std::string_view text) {
  size_t parameters = none, last_space = none;
  const bool whole = walk(text, [&](size_t at, size_t depth) {
    if (depth == 0 && parameters == none) {
      if (text[at] == ' ') {
        last_space = at;
      } else if (text[at] == '(' && at > 0 && text[at - 1] != ' ' && text[at - 1] != ':') {
        parameters = at;
      }
    }
  });
  if (!whole || parameters == none) {
    return text;
  }
  // A function's parameters end the name, but for qualifiers and clones; a lambda's function goes on with "::".
  size_t end = none;
  walk(text.substr(parameters), [&](size_t at, size_t depth) {
    if (depth == 0 && at > 0 && end == none && text[parameters + at] == ')') {
      end = parameters + at + 1;
    }
  });
  const std::string_view behind = end == none ? std::string_view{} : text.substr(end);
  if (!behind.empty() && behind.front() != ' ') {
    return text;
  }
  const std::string_view name = text.substr(0, parameters);
  return last_space == none ? name : name.substr(last_space + 1);
}

struct Detail {
  size_t most_arguments;
  size_t depth;  // of template arguments inside template arguments
};

std::string shorten_path(std::string_view text, Detail detail, bool keep_namespaces);

// Numbers, flags and plain types say less about a kernel than the name of a functor.
bool says_little(std::string_view argument) {
  constexpr std::string_view plain[] = {"true",  "false",  "bool", "char",  "short",  "int",     "long",
                                        "float", "double", "void", "const", "signed", "unsigned"};
  if (argument.empty() || argument.front() == '(' || argument.front() == '-' ||
      (argument.front() >= '0' && argument.front() <= '9')) {
    return true;
  }
  const std::string_view word = argument.substr(0, argument.find_first_of(" *&"));
  return std::find(std::begin(plain), std::end(plain), word) != std::end(plain);
}

// Which arguments to keep, where only some may be: the first ones that say something, then the first ones.
std::vector<bool> kept_arguments(const std::vector<std::string_view>& arguments, size_t most) {
  std::vector<bool> kept(arguments.size(), false);
  for (bool little : {false, true}) {
    for (size_t index = 0; index < arguments.size() && most > 0; ++index) {
      if (says_little(arguments[index]) == little) {
        kept[index] = true;
        --most;
      }
    }
  }
  return kept;
}

std::string shorten_arguments(const Component& part, Detail detail) {
  if (!part.has_arguments) {
    return {};
  }
  if (detail.depth == 0 || detail.most_arguments == 0) {
    return part.arguments.empty() ? "<>" : "<…>";
  }
  const auto arguments = split_arguments(part.arguments);
  const auto kept = kept_arguments(arguments, detail.most_arguments);
  std::string out = "<";
  for (size_t index = 0; index < arguments.size(); ++index) {
    if (kept[index]) {
      out += index > 0 && kept[index - 1] ? ", " : "";
      out += shorten_path(arguments[index], {detail.most_arguments, detail.depth - 1}, false);
    } else if (index == 0 || kept[index - 1]) {
      out += index == 0 || detail.most_arguments == 1 ? "…" : ", …";
      out += detail.most_arguments > 1 && index + 1 < arguments.size() && kept[index + 1] ? ", " : "";
    } else if (detail.most_arguments > 1 && index + 1 < arguments.size() && kept[index + 1]) {
      out += ", ";
    }
  }
  return out + ">";
}

// A function's name without its parameters: "copy(Tensor&)" gives "copy".
std::string_view without_parameters(std::string_view text) {
  const size_t parenthesis = text.find('(');
  return parenthesis == none || parenthesis == 0 ? text : text.substr(0, parenthesis);
}

std::string shorten_path(std::string_view text, Detail detail, bool keep_namespaces) {
  const std::vector<Component> parts = components(text);
  if (parts.empty()) {
    return std::string(text);
  }
  if (keep_namespaces) {
    std::string out;
    for (const Component& part : parts) {
      if (!anonymous(part.head)) {
        out += (out.empty() ? "" : "::") + std::string(part.head) + shorten_arguments(part, detail) +
               std::string(part.tail);
      }
    }
    return out;
  }
  // A cast value, "(Kind)2", keeps its short form; something inside a function is called by that function.
  for (const Component& part : parts) {
    const bool function =
        part.tail.starts_with('(') || (!part.has_arguments && without_parameters(part.head).size() < part.head.size() &&
                                       !part.head.starts_with("{lambda"));
    if (function && &part != &parts.back()) {
      return std::string(without_parameters(part.head)) + shorten_arguments(part, detail);
    }
  }
  const Component& last = parts.back();
  return std::string(last.head) + shorten_arguments(last, detail) + std::string(last.tail);
}

constexpr size_t all = std::numeric_limits<size_t>::max();
struct Attempt {
  bool keep_namespaces;
  Detail detail;
};
// From much detail to little. What a kernel was instantiated with tells more than the namespace it lives in, and one
// telling argument more than several numbers. Depth 8 is deeper than names that still fit on a line.
constexpr Attempt attempts[] = {
    {true, {all, 8}}, {true, {all, 2}}, {false, {all, 8}}, {false, {all, 2}}, {true, {4, 2}},
    {false, {4, 2}},  {false, {3, 2}},  {false, {2, 2}},   {false, {1, 8}},   {false, {1, 3}},
    {false, {1, 2}},  {true, {all, 1}}, {false, {all, 1}}, {false, {4, 1}},   {false, {3, 1}},
    {false, {2, 1}},  {false, {1, 1}},  {true, {0, 0}},    {false, {0, 0}},
};

bool fits(std::string_view text, size_t columns) {
  return text.size() <= columns * 4 && display_width(text) <= columns;
}

uint64_t fnv1a(std::string_view text) {  // Fowler, Noll, Vo: 64 bits
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

std::string escape_pattern(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(byte));
    } else if (byte >= 0x80) {
      out += '.';  // patterns work on bytes: one dot for each
    } else {
      out += std::string_view("^$\\.*+?()[]{}|").find(c) != none ? "\\" : "";
      out += c;
    }
  }
  return out;
}

std::string shell_quoted(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' ||
           c == '-';
  });
  if (plain && !text.empty()) {
    return text;
  }
  std::string out = "'";
  for (char c : text) {
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

}  // namespace

std::string short_name(std::string_view raw, size_t max_columns) {
  // Real names reach a few KiB (CUTLASS). What is longer is cut before any work is done on it.
  const std::string full = safe_text(demangle(raw.substr(0, longest_name)), longest_name);
  const std::string_view name = without_signature(full);
  if (fits(name, max_columns)) {
    return std::string(name);
  }
  if (components(name).empty()) {
    return safe_text_middle(name, max_columns);  // no C++ name: brackets don't match
  }
  for (const Attempt& attempt : attempts) {
    if (std::string text = shorten_path(name, attempt.detail, attempt.keep_namespaces); fits(text, max_columns)) {
      return text;
    }
  }
  return safe_text_middle(shorten_path(name, {0, 0}, false), max_columns);
}

std::vector<std::string> short_names(const std::vector<std::string>& raw, size_t max_columns) {
  std::vector<std::string> out;
  std::unordered_map<std::string, std::vector<size_t>> alike;
  for (const std::string& name : raw) {
    out.push_back(short_name(name, max_columns));
    alike[out.back()].push_back(out.size() - 1);
  }
  for (const auto& [text, which] : alike) {
    if (std::all_of(which.begin(), which.end(), [&](size_t i) { return raw[i] == raw[which.front()]; })) {
      continue;
    }
    // Sixteen bits tell a handful apart; where they don't, there are more.
    for (size_t digits = 4; digits <= 16; digits += 4) {
      std::map<std::string, std::string_view> owner;
      bool apart = true;
      for (size_t index : which) {
        const std::string mark = "~" + fmt::format("{:016x}", fnv1a(raw[index])).substr(16 - digits);
        apart = apart && owner.emplace(mark, raw[index]).first->second == raw[index];
        const size_t room = max_columns > mark.size() ? max_columns - mark.size() : 0;
        out[index] = (fits(text, room) ? text : short_name(raw[index], room)) + mark;
      }
      if (apart) {
        break;
      }
    }
  }
  return out;
}

std::string base_name(std::string_view raw) {
  const std::string full = demangle(raw);
  const std::string_view name = without_signature(full);
  const std::vector<Component> parts = components(name);
  return std::string(parts.empty() ? name : parts.back().head);
}

PatternMaker::PatternMaker(const std::vector<std::string>& all_raw) {
  for (const std::string& raw : all_raw) {
    const auto [name, is_new] = ids_.try_emplace(raw, static_cast<uint32_t>(ids_.size()));
    if (is_new) {
      index_.add(raw, name->second);
      index_.add(demangle(raw), name->second);
    }
  }
}

bool PatternMaker::tells_apart(const std::string& raw, std::string_view literal) const {
  const auto own = ids_.find(raw);
  return !literal.empty() &&
         !index_.in_another(literal, own == ids_.end() ? std::numeric_limits<uint32_t>::max() : own->second);
}

std::string PatternMaker::pattern_for(const std::string& raw) const {
  const std::string full = demangle(raw);
  const std::string base = base_name(raw);
  if (tells_apart(raw, base)) {
    return shell_quoted(escape_pattern(base));
  }
  if (tells_apart(raw, full)) {
    // The shortest beginning, from the base name on, that no other name contains. Longer ones tell apart whatever
    // shorter ones do, so a binary search finds it. It is then extended to the end of the word.
    const size_t begin = std::min(full.find(base), full.size());
    const std::string_view rest = std::string_view(full).substr(begin);
    if (tells_apart(raw, rest)) {
      size_t low = 1, high = rest.size();
      while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (tells_apart(raw, rest.substr(0, middle))) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      while (high < rest.size() && (std::isalnum(static_cast<unsigned char>(rest[high])) != 0 || rest[high] == '_')) {
        ++high;
      }
      return shell_quoted(escape_pattern(rest.substr(0, high)));
    }
    return shell_quoted(escape_pattern(full));
  }
  return shell_quoted("^" + escape_pattern(raw) + "$");
}

const std::string& NameCache::operator()(const std::string& raw) {
  auto found = short_.find(raw);
  if (found == short_.end()) {
    found = short_.emplace(raw, short_name(raw, max_columns_)).first;
  }
  return found->second;
}

}  // namespace kvet::report
