// How the kernel runs the instruction under a uprobe, by what the probed function begins with.
#pragma once

#include <array>
#include <cstdint>

namespace kvet::capability {

using FirstBytes = std::array<uint8_t, 16>;  // of a function; zero beyond the end of its file

// What the kernel emulates costs one trap; what it single-steps out of line costs a trap and a debug exception
// (arch/x86/kernel/uprobes.c; ten times as much, measured).
enum class FirstInstruction : uint8_t {
  push,     // emulated
  nop,      // emulated
  branch,   // jmp, call: emulated
  endbr64,  // single-stepped
  other,    // single-stepped
  unknown,  // not x86-64
};
[[nodiscard]] FirstInstruction classify(const FirstBytes& bytes);
[[nodiscard]] const char* name(FirstInstruction instruction);
[[nodiscard]] bool emulated(FirstInstruction instruction);

}  // namespace kvet::capability
