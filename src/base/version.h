// The version of kvet, as the build names it.
#pragma once

namespace kvet {

[[nodiscard]] const char* version();

}  // namespace kvet
