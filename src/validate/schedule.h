// In which order blocks run. A pure function of the plan: an interrupted run finds its place again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verdict/verdict.h"

namespace kvet::validate {

enum class BlockKind : uint8_t { ab, aa, unrecorded };
[[nodiscard]] const char* name(BlockKind kind);

struct Block {
  BlockKind kind = BlockKind::ab;
  verdict::Arm arm = verdict::Arm::baseline;
  uint32_t quad = 0, position = 0;
  friend bool operator==(const Block&, const Block&) = default;
};
[[nodiscard]] std::string name(const Block& block);  // "ab-02-1-candidate"; also the name of its files

// Blocks up to a look, then the look. Stages are run in order until one decides.
struct Stage {
  std::vector<Block> blocks;
  uint64_t quads = 0;  // A/B quads that exist when the stage is done
};

// Whether the quad is ABBA (true) or BAAB, drawn from the seed.
[[nodiscard]] bool baseline_outside(uint64_t seed, BlockKind kind, uint32_t quad);

// The looks at 4, 8 and 16 quads, or the fixed number. A/A quads come between the first A/B quads, so that both see the
// same machine; the unrecorded block of each arm comes behind the first A/B quad.
[[nodiscard]] std::vector<Stage> schedule(uint64_t seed, uint32_t fixed_quads, bool with_aa);

}  // namespace kvet::validate
