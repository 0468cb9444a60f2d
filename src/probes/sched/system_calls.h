// Why a thread that blocked did so, from the system call that it was in.
#pragma once

#include <cstdint>

#include "model/events.h"

namespace kvet::probes {

enum class Architecture : uint8_t { x86_64, aarch64 };
#if defined(__aarch64__)
inline constexpr Architecture this_architecture = Architecture::aarch64;
#else
inline constexpr Architecture this_architecture = Architecture::x86_64;
#endif

// futex, poll, io or sleep; other for every call that is not known to block for one of these, and for −1.
[[nodiscard]] OffCpuReason blocking_reason(int32_t system_call, Architecture architecture = this_architecture);

}  // namespace kvet::probes
