// What receivers answer. The bodies are strangers', and may be cut: what came until there counts.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "export/otlp.h"
#include "export/otlp_fields.h"

namespace kvet::exporting {
namespace {

// One field of a message; `bytes` is what there is of it.
constexpr uint64_t varint_type = 0, fixed64_type = 1, delimited_type = 2, fixed32_type = 5;
struct Field {
  uint64_t number = 0, wire_type = 0;
  uint64_t value = 0;
  std::string_view bytes;
};

class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}
  // Empty at the end, and where what follows cannot be read.
  std::optional<Field> next() {
    Field field;
    const auto tag = rest_.empty() ? std::nullopt : varint();
    if (!tag || *tag >> 3 == 0) {
      broken_ = broken_ || tag.has_value();
      return std::nullopt;
    }
    field.number = *tag >> 3;
    field.wire_type = *tag & 7;
    std::optional<uint64_t> value;
    switch (field.wire_type) {
      case varint_type:
      case delimited_type: value = varint(); break;
      case fixed64_type: value = 8; break;
      case fixed32_type: value = 4; break;
      default: break;
    }
    if (!value) {
      broken_ = true;
      return std::nullopt;
    }
    field.value = *value;
    if (field.wire_type != varint_type) {
      field.bytes = rest_.substr(0, static_cast<size_t>(std::min<uint64_t>(*value, rest_.size())));
      skip(*value);
    }
    return field;
  }
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  // Seven bits a byte, the lowest first; the last byte has no eighth bit.
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    broken_ = true;
    return std::nullopt;
  }
  void skip(uint64_t bytes) {
    broken_ = broken_ || bytes > rest_.size();
    rest_.remove_prefix(static_cast<size_t>(std::min<uint64_t>(bytes, rest_.size())));
  }
  std::string_view rest_;
  bool broken_ = false;
};

}  // namespace

PartialSuccess read_partial_success(std::string_view body) {
  PartialSuccess out;
  Fields response(body);
  while (const auto field = response.next()) {
    if (field->number != otlp::response_partial_success || field->wire_type != delimited_type) {
      continue;
    }
    Fields partial(field->bytes);
    while (const auto said = partial.next()) {
      if (said->number == otlp::partial_rejected && said->wire_type == varint_type) {
        out.rejected = static_cast<int64_t>(said->value);
      } else if (said->number == otlp::partial_message && said->wire_type == delimited_type) {
        out.message = said->bytes;
      }
    }
    out.readable = out.readable && !partial.broken();
  }
  out.readable = out.readable && !response.broken();
  return out;
}

std::string read_refusal(std::string_view body) {
  // google/rpc/status.proto: code 1, message 2, details 3.
  std::string_view text = body;
  if (!body.empty() &&
      std::string_view("\x08\x12\x1a").find(body.front()) != std::string_view::npos) {  // no text begins like that
    text = {};
    Fields status(body);
    while (const auto field = status.next()) {
      if (field->number == 2 && field->wire_type == delimited_type) {
        text = field->bytes;
      }
    }
  }
  text = trimmed(text);
  return std::string{trimmed(text.substr(0, text.find_first_of("\r\n")))};
}

}  // namespace kvet::exporting
