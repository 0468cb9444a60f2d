// C++ symbol names as people write them.
#pragma once

#include <string>
#include <string_view>

namespace kvet {

// "_Z5scalePfi" gives "scale(float*, int)". What is not a mangled C++ name comes back as it is: Triton and extern "C"
// kernels, names that another tool demangled before. The C++ runtime refuses names of more than about 1,000 bytes (common
// for CUTLASS and for PyTorch lambdas) and the output is cut off at 64 KiB (a crafted name of 300 bytes can expand to
// terabytes); then only the qualified name is decoded: "cutlass::device_kernel<...>".
[[nodiscard]] std::string demangle(std::string_view symbol);

}  // namespace kvet
