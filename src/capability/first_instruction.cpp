#include "capability/first_instruction.h"

namespace kvet::capability {

// Intel's manual, volume 2: push r64 is 50 to 57 (with REX.B, 41, in front), jmp EB and E9, call E8, nop 90, 66 90 and
// 0F 1F, endbr64 F3 0F 1E FA.
FirstInstruction classify(const FirstBytes& bytes) {
#if defined(__x86_64__)
  if (bytes[0] == 0xf3 && bytes[1] == 0x0f && bytes[2] == 0x1e && bytes[3] == 0xfa) {
    return FirstInstruction::endbr64;
  }
  const uint8_t opcode = bytes[0] == 0x41 ? bytes[1] : bytes[0];
  if (opcode >= 0x50 && opcode <= 0x57) {
    return FirstInstruction::push;
  }
  if (bytes[0] == 0x90 || (bytes[0] == 0x66 && bytes[1] == 0x90) || (bytes[0] == 0x0f && bytes[1] == 0x1f)) {
    return FirstInstruction::nop;
  }
  if (bytes[0] == 0xeb || bytes[0] == 0xe9 || bytes[0] == 0xe8) {
    return FirstInstruction::branch;
  }
  return FirstInstruction::other;
#else
  static_cast<void>(bytes);
  return FirstInstruction::unknown;
#endif
}

const char* name(FirstInstruction instruction) {
  switch (instruction) {
    case FirstInstruction::push: return "push";
    case FirstInstruction::nop: return "nop";
    case FirstInstruction::branch: return "branch";
    case FirstInstruction::endbr64: return "endbr64";
    case FirstInstruction::other: return "other";
    case FirstInstruction::unknown: return "unknown";
  }
  return "?";
}

bool emulated(FirstInstruction instruction) {
  return instruction == FirstInstruction::push || instruction == FirstInstruction::nop ||
         instruction == FirstInstruction::branch;
}

}  // namespace kvet::capability
