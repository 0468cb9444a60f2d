#include "inject/settings.h"

#include <stdlib.h>

namespace kvet::inject {

uint32_t number(const char* text, uint32_t otherwise, uint32_t most) {
  if (text == nullptr || *text == '\0') {
    return otherwise;
  }
  uint64_t value = 0;
  for (const char* digit = text; *digit != '\0'; ++digit) {
    if (*digit < '0' || *digit > '9') {
      return otherwise;
    }
    value = value * 10 + static_cast<uint64_t>(*digit - '0');
    if (value > most) {
      return most;
    }
  }
  return static_cast<uint32_t>(value);
}

Settings read_settings() {
  Settings settings;
  settings.wait_ms = number(getenv("KVET_WAIT_MS"), 0, 200);
  settings.flush_ms = number(getenv("KVET_FLUSH_MS"), settings.flush_ms, 10'000);
  settings.reader_patience_ms = number(getenv("KVET_READER_PATIENCE_MS"), settings.reader_patience_ms, 86'400'000);
  settings.buffer_kib = number(getenv("KVET_BUFFER_KIB"), settings.buffer_kib, 8192);
  if (settings.buffer_kib < 16) {
    settings.buffer_kib = 16;
  }
  settings.discard = number(getenv("KVET_DISCARD"), 0, 1) == 1;
  settings.copy_calls = number(getenv("KVET_COPY_CALLS"), 0, 1) == 1;
  settings.code_hash = number(getenv("KVET_CODE_HASH"), 1, 1) == 1;
  const char* descriptor = getenv("KVET_MEMORY_FD");
  constexpr uint32_t none = 0x7fffffff;
  const uint32_t parsed = number(descriptor, none, none);
  settings.memory_descriptor = parsed == none ? -1 : static_cast<int>(parsed);
  settings.memory_path = getenv("KVET_MEMORY_PATH");
  settings.cupti_path = getenv("KVET_CUPTI_PATH");
  return settings;
}

}  // namespace kvet::inject
