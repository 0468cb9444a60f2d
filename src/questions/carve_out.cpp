#include "questions/carve_out.h"

#include <algorithm>

namespace kvet::questions {

std::optional<uint32_t> recorded_carve_out(const SmLimits& limits, const KernelShape& shape, uint32_t block_bytes) {
  if (shape.shared_executed_bytes == 0 || shape.shared_executed_bytes < block_bytes) {
    return std::nullopt;
  }
  return std::min(shape.shared_executed_bytes, limits.shared_bytes);
}

uint32_t common_carve_out(const SmLimits& limits, std::optional<uint32_t> one, std::optional<uint32_t> other) {
  return std::max(one.value_or(limits.shared_bytes), other.value_or(limits.shared_bytes));
}

}  // namespace kvet::questions
