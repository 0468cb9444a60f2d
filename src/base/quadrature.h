// Independent errors add in quadrature: the root of the sum of their squares. (std::hypot is the same for values of any size,
// but binds to a symbol of glibc 2.35.)
#pragma once

#include <cmath>

namespace kvet {

template <class... Errors>
[[nodiscard]] double in_quadrature(Errors... errors) {
  return std::sqrt(((errors * errors) + ...));
}

}  // namespace kvet
