// What a loss is, in words.
#pragma once

#include <string_view>

#include "model/events.h"

namespace kvet::questions {

struct LossWords {
  std::string_view what, advice;
};
[[nodiscard]] LossWords explain_loss(Source source, LossKind kind);
[[nodiscard]] std::string_view source_name(Source source);

}  // namespace kvet::questions
