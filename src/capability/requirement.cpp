#include "capability/requirement.h"

#include <algorithm>

namespace kvet::capability {

const char* name(State state) {
  switch (state) {
    case State::present: return "present";
    case State::absent: return "absent";
    case State::unknown: return "unknown";
  }
  return "?";
}

const char* name(Part part) {
  switch (part) {
    case Part::host: return "host";
    case Part::device: return "device";
    case Part::counters: return "counters";
    case Part::context: return "context";
  }
  return "?";
}

bool complete(const std::vector<Requirement>& requirements, Part part) {
  return std::all_of(requirements.begin(), requirements.end(), [part](const Requirement& requirement) {
    return requirement.part != part || !requirement.needed || requirement.state == State::present;
  });
}

}  // namespace kvet::capability
