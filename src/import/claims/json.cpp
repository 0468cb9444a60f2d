#include "import/claims/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kvet::importing {
namespace {

using Kind = JsonValue::Kind;

// Builds values from parse events, so that depth and number are limited while they are seen: nlohmann's parser is iterative,
// but the destructor of what it builds is not.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add({}); }
  bool boolean(bool value) override { return add({.kind = Kind::boolean, .truth = value}); }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override { return add({.kind = Kind::text, .text = std::move(value)}); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Kind::object); }
  bool start_array(size_t) override { return open(Kind::array); }
  bool key(string_t& value) override {
    open_.back().keys.push_back(std::move(value));
    return true;
  }
  bool end_object() override {
    std::vector<std::string_view> keys(open_.back().keys.begin(), open_.back().keys.end());
    std::sort(keys.begin(), keys.end());
    if (const auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end()) {
      problem = fmt::format("the key \"{}\" is there twice in one object", twice->substr(0, 60));
      return false;
    }
    return close();
  }
  bool end_array() override { return close(); }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception& error) override {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow) {
      problem = "holds a number that is too large";
    }
    position = at;
    return false;
  }

  JsonValue root;
  std::string problem;
  size_t position = 0;  // bytes read when the text turned out not to be JSON

 private:
  bool number(double value) { return add({.kind = Kind::number, .number = value}); }
  bool open(Kind kind) {
    if (open_.size() >= deepest_json) {
      problem = fmt::format("nested deeper than {} levels", deepest_json);
      return false;
    }
    open_.push_back({.kind = kind});
    return true;
  }
  bool close() {
    JsonValue done = std::move(open_.back());
    open_.pop_back();
    return add(std::move(done));
  }
  bool add(JsonValue value) {
    if (++values_ > most_json_values) {
      problem = fmt::format("holds more than {} values", most_json_values);
      return false;
    }
    if (open_.empty()) {
      root = std::move(value);
    } else {
      open_.back().elements.push_back(std::move(value));
    }
    return true;
  }

  std::vector<JsonValue> open_;
  size_t values_ = 0;
};

}  // namespace

const JsonValue& JsonValue::operator[](std::string_view key) const {
  static const JsonValue nothing;
  const auto at = std::find(keys.begin(), keys.end(), key);
  return at == keys.end() ? nothing : elements[static_cast<size_t>(at - keys.begin())];
}

Result<JsonValue> parse_json(std::string_view text, const std::string& path, size_t line) {
  Builder builder;
  bool whole = false;
  try {
    whole = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const std::exception& error) {
    builder.problem = error.what();
  }
  if (whole) {
    return std::move(builder.root);
  }
  if (!builder.problem.empty()) {
    return fail(ErrorKind::bad_input, builder.problem, line > 1 ? fmt::format("{}:{}", path, line) : path);
  }
  const std::string_view before = text.substr(0, builder.position > 0 ? builder.position - 1 : 0);
  const size_t at_line = line + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t begin = before.rfind('\n');
  const size_t column = before.size() - (begin == std::string_view::npos ? 0 : begin + 1) + 1;
  const bool cut = builder.position > text.size();
  return fail(ErrorKind::bad_input,
              cut ? "ends in the middle of its JSON" : fmt::format("is not valid JSON at column {}", column),
              fmt::format("{}:{}", path, at_line), cut ? "copy the file again" : "");
}

size_t first_json_text(std::string_view text) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      at += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
      if (depth == 0) {
        return at + 1;
      }
    }
  }
  return std::string_view::npos;
}

}  // namespace kvet::importing
