// The injected library as bytes inside this program, so that one file is all that has to be installed.
#pragma once

#include <cstddef>
#include <span>

namespace kvet::record {

// The whole of libkvet_inject.so, as it was built together with this program. To be written to a file of this recording's
// own: a probe attached to that file is then hit by this recording's targets and by nobody else's.
[[nodiscard]] std::span<const std::byte> embedded_inject_library();

}  // namespace kvet::record
