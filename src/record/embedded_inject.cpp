#include "record/embedded_inject.h"

// KVET_INJECT_LIBRARY is the path of the built library; src/inject/CMakeLists.txt sets it and makes this file depend on it.
asm(R"(
  .section .rodata
  .balign 64
  .globl kvet_embedded_inject_begin
  .hidden kvet_embedded_inject_begin
kvet_embedded_inject_begin:
  .incbin ")" KVET_INJECT_LIBRARY R"("
  .globl kvet_embedded_inject_end
  .hidden kvet_embedded_inject_end
kvet_embedded_inject_end:
  .byte 0
  .previous
)");

extern "C" {
extern const std::byte kvet_embedded_inject_begin[];
extern const std::byte kvet_embedded_inject_end[];
}

namespace kvet::record {

std::span<const std::byte> embedded_inject_library() { return {kvet_embedded_inject_begin, kvet_embedded_inject_end}; }

}  // namespace kvet::record
