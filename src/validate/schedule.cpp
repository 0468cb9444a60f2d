#include "validate/schedule.h"

#include <fmt/core.h>

#include <algorithm>

#include "verdict/statistics.h"

namespace kvet::validate {

const char* name(BlockKind kind) {
  switch (kind) {
    case BlockKind::ab: return "ab";
    case BlockKind::aa: return "aa";
    case BlockKind::unrecorded: return "unrecorded";
  }
  return "?";
}

std::string name(const Block& block) {
  return fmt::format("{}-{:02}-{}-{}", name(block.kind), block.quad, block.position, verdict::name(block.arm));
}

bool baseline_outside(uint64_t seed, BlockKind kind, uint32_t quad) {
  // splitmix64 (Steele, Lea and Flood, 2014): one well-mixed value per quad, whatever was drawn before.
  uint64_t value = seed + 0x9e3779b97f4a7c15ULL * (2 * uint64_t{quad} + (kind == BlockKind::aa ? 2 : 1));
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return ((value ^ (value >> 31)) & 1) == 0;
}

namespace {

void add_quad(std::vector<Block>& blocks, uint64_t seed, BlockKind kind, uint32_t quad) {
  const bool outside = baseline_outside(seed, kind, quad);
  for (uint32_t position = 0; position < 4; ++position) {
    const bool outer = position == 0 || position == 3;
    const bool baseline = kind == BlockKind::aa || outer == outside;
    blocks.push_back({kind, baseline ? verdict::Arm::baseline : verdict::Arm::candidate, quad, position});
  }
}

}  // namespace

std::vector<Stage> schedule(uint64_t seed, uint32_t fixed_quads, bool with_aa) {
  std::vector<uint64_t> stops(verdict::looks.begin(), verdict::looks.end());
  if (fixed_quads > 0) {
    stops = {fixed_quads};
  }
  std::vector<Stage> stages;
  uint32_t quad = 0, aa = 0;
  for (uint64_t stop : stops) {
    Stage stage;
    stage.quads = stop;
    for (; quad < stop; ++quad) {
      add_quad(stage.blocks, seed, BlockKind::ab, quad);
      if (quad == 0) {
        stage.blocks.push_back({BlockKind::unrecorded, verdict::Arm::baseline, 0, 0});
        stage.blocks.push_back({BlockKind::unrecorded, verdict::Arm::candidate, 0, 1});
      }
      if (with_aa && aa < verdict::least_aa_quads) {
        add_quad(stage.blocks, seed, BlockKind::aa, aa++);
      }
    }
    // A fixed number below four still gets all A/A quads.
    while (with_aa && aa < verdict::least_aa_quads) {
      add_quad(stage.blocks, seed, BlockKind::aa, aa++);
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace kvet::validate
