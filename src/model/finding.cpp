#include "model/finding.h"

namespace kvet {

const char* name(Evidence evidence) {
  switch (evidence) {
    case Evidence::measured: return "measured";
    case Evidence::attributed: return "attributed";
    case Evidence::modelled: return "modelled";
    case Evidence::unavailable: return "unavailable";
  }
  return "?";
}

const char* name(Question question) {
  switch (question) {
    case Question::occupancy: return "occupancy";
    case Question::dram: return "dram";
    case Question::dispatch: return "dispatch";
    case Question::nccl: return "nccl";
    case Question::capture: return "capture";
    case Question::verdict: return "verdict";
  }
  return "?";
}

}  // namespace kvet
