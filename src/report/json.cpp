#include "report/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/safe_text.h"

namespace kvet::report {
namespace {

using Ordered = nlohmann::ordered_json;

template <class... Parts>
struct Overloaded : Parts... {
  using Parts::operator()...;
};

// nlohmann's ordered map looks for an equal key on every insertion, which makes n keys cost n²; ours are unique already,
// so they are appended to the vector that it derives from.
Ordered convert(const Json& value) {
  if (value.is_array()) {
    Ordered out = Ordered::array();
    auto& elements = out.get_ref<Ordered::array_t&>();
    elements.reserve(value.elements().size());
    for (const Json& element : value.elements()) {
      elements.push_back(convert(element));
    }
    return out;
  }
  if (value.is_object()) {
    Ordered out = Ordered::object();
    auto& members = static_cast<Ordered::object_t::Container&>(out.get_ref<Ordered::object_t&>());
    members.reserve(value.members().size());
    for (const auto& [key, member] : value.members()) {
      members.emplace_back(key, convert(member));
    }
    return out;
  }
  if (auto text = value.string()) {
    return Ordered(std::string(*text));
  }
  if (auto truth = value.boolean()) {
    return Ordered(*truth);
  }
  if (auto number = value.integer()) {
    return Ordered(*number);
  }
  if (auto number = value.unsigned_integer()) {
    return Ordered(*number);
  }
  return value.number() ? Ordered(*value.number()) : Ordered(nullptr);
}

// Builds a Json from parse events. The depth is limited here, where the nesting is seen, so that a hostile text can
// exhaust no stack: neither in this parser (which is iterative) nor later in a destructor (which is not).
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(Json(value)); }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override {
    std::vector<std::string_view> keys;
    for (const auto& member : open_.back().members) {
      keys.emplace_back(member.first);
    }
    std::sort(keys.begin(), keys.end());
    auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) {
      error = "the key \"" + std::string(twice->substr(0, 60)) + "\" is there twice in one object";
      return false;
    }
    return close();
  }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error = "not valid JSON at byte " + std::to_string(position);
    return false;
  }

  Json root;
  std::string error;

 private:
  struct Open {
    bool object = false;
    std::string key;
    Json::Object members;
    Json::Array elements;
  };

  bool open(const Json& kind) {
    if (open_.size() >= static_cast<size_t>(Json::depth_limit)) {
      error = "nested deeper than " + std::to_string(Json::depth_limit) + " levels";
      return false;
    }
    open_.push_back(Open{kind.is_object(), {}, {}, {}});
    return true;
  }
  bool close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    return add(done.object ? Json::adopt(std::move(done.members)) : Json::adopt(std::move(done.elements)));
  }
  bool add(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (open_.back().object) {
      open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().elements.push_back(std::move(value));
    }
    return true;
  }

  std::vector<Open> open_;
};

}  // namespace

Json& Json::set(std::string key, Json value) {
  if (is_null()) {
    value_ = Object{};
  }
  if (auto* object = std::get_if<Object>(&value_)) {
    auto same = std::find_if(object->begin(), object->end(), [&](const Member& member) { return member.first == key; });
    if (same != object->end()) {
      same->second = std::move(value);
    } else {
      object->emplace_back(std::move(key), std::move(value));
    }
  }
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) {
    value_ = Array{};
  }
  if (auto* array = std::get_if<Array>(&value_)) {
    array->push_back(std::move(value));
  }
  return *this;
}

bool Json::is_integer() const {
  return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_);
}

bool Json::is_number() const { return is_integer() || std::holds_alternative<double>(value_); }

std::optional<bool> Json::boolean() const {
  const auto* truth = std::get_if<bool>(&value_);
  return truth ? std::optional(*truth) : std::nullopt;
}

std::optional<int64_t> Json::integer() const {
  if (const auto* number = std::get_if<int64_t>(&value_)) {
    return *number;
  }
  const auto* number = std::get_if<uint64_t>(&value_);
  if (number && *number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return static_cast<int64_t>(*number);
  }
  return std::nullopt;
}

std::optional<uint64_t> Json::unsigned_integer() const {
  if (const auto* number = std::get_if<uint64_t>(&value_)) {
    return *number;
  }
  const auto* number = std::get_if<int64_t>(&value_);
  return number && *number >= 0 ? std::optional(static_cast<uint64_t>(*number)) : std::nullopt;
}

std::optional<double> Json::number() const {
  return std::visit(Overloaded{[](int64_t number) { return std::optional(static_cast<double>(number)); },
                               [](uint64_t number) { return std::optional(static_cast<double>(number)); },
                               [](double number) { return std::optional(number); },
                               [](const auto&) { return std::optional<double>(); }},
                    value_);
}

std::optional<std::string_view> Json::string() const {
  const auto* text = std::get_if<std::string>(&value_);
  return text ? std::optional<std::string_view>(*text) : std::nullopt;
}

const Json::Array& Json::elements() const {
  static const Array none;
  const auto* array = std::get_if<Array>(&value_);
  return array ? *array : none;
}

const Json::Object& Json::members() const {
  static const Object none;
  const auto* object = std::get_if<Object>(&value_);
  return object ? *object : none;
}

const Json& Json::operator[](std::string_view key) const {
  static const Json null;
  for (const auto& [name, value] : members()) {
    if (name == key) {
      return value;
    }
  }
  return null;
}

bool Json::contains(std::string_view key) const {
  return std::any_of(members().begin(), members().end(), [&](const Member& member) { return member.first == key; });
}

std::string Json::dump(int indent) const {
  return json_without_unseen(convert(*this).dump(indent, ' ', false, Ordered::error_handler_t::replace));
}

Result<Json> Json::parse(std::string_view text, const std::string& subject) {
  Builder builder;
  try {
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
      return fail(ErrorKind::bad_input, builder.error.empty() ? "not valid JSON" : builder.error, subject);
    }
  } catch (const std::exception& error) {
    return fail(ErrorKind::bad_input, std::string("not valid JSON: ") + error.what(), subject);
  }
  return std::move(builder.root);
}

}  // namespace kvet::report
