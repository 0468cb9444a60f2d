// A JSON value, its writer and its parser. The only other file that knows the JSON library is json.cpp.
//
//   Json root = Json::object();
//   root.set("schema", "kvet.report/1").set("value", finding.value).set("kernels", Json::array());
//   std::fputs(root.dump(2).c_str(), stdout);
//
// Text that is not valid UTF-8 is written with U+FFFD in place of the bad bytes; NaN and infinities become null, because
// JSON has neither. What a terminal would obey or not show is escaped. Objects keep the order in which their keys were set.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace kvet::report {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(std::same_as<bool> auto value) : value_(value) {}
  template <std::signed_integral T>
  Json(T value) : value_(int64_t{value}) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : value_(uint64_t{value}) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  template <class T>
  Json(const std::optional<T>& value) {
    if (value) {
      *this = Json(*value);
    }
  }
  static Json array() { return Json(Value(Array{})); }
  static Json object() { return Json(Value(Object{})); }
  static Json adopt(Array elements) { return Json(Value(std::move(elements))); }
  static Json adopt(Object members) { return Json(Value(std::move(members))); }  // keys must differ

  // For building. Both turn a null into an object or array first; on anything else they do nothing.
  Json& set(std::string key, Json value);  // a key that is already there is replaced. Returns *this
  Json& push(Json value);  // returns *this

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<Array>(value_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Object>(value_); }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(value_); }
  [[nodiscard]] bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  [[nodiscard]] bool is_integer() const;  // written without fraction or exponent
  [[nodiscard]] bool is_number() const;  // an integer or not

  // Each is empty where the value is of another type (or, for integers, out of range).
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<int64_t> integer() const;
  [[nodiscard]] std::optional<uint64_t> unsigned_integer() const;
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] std::optional<std::string_view> string() const;
  // Empty containers where the value is of another type.
  [[nodiscard]] const Array& elements() const;
  [[nodiscard]] const Object& members() const;
  // The value of a key, or a null where the key is absent or this is no object. Linear in the number of keys.
  [[nodiscard]] const Json& operator[](std::string_view key) const;
  [[nodiscard]] bool contains(std::string_view key) const;

  // `indent` spaces per level; negative: everything on one line.
  [[nodiscard]] std::string dump(int indent = -1) const;

  // `subject` names the text in messages (a path). Errors are bad_input: not JSON (with the byte offset), nested deeper
  // than depth_limit, a key twice in one object, invalid UTF-8.
  static constexpr int depth_limit = 64;
  static Result<Json> parse(std::string_view text, const std::string& subject);

 private:
  using Value = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object>;
  explicit Json(Value value) : value_(std::move(value)) {}
  Value value_;
};

}  // namespace kvet::report
