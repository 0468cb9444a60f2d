// One thing that recording needs, or would like to have, and whether this machine has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvet::capability {

enum class State : uint8_t {
  present,
  absent,
  unknown,  // could not be found out: `detail` says why
};

// What goes without it.
enum class Part : uint8_t {
  host,      // launches, off-CPU time, NCCL calls: eBPF
  device,    // executions and names: CUPTI in the target
  counters,  // occupancy and DRAM: the GPU's performance monitors
  context,   // nothing is lost; what a reader of figures should know
};

struct Requirement {
  std::string id;  // stable, dotted: "host.btf"
  Part part = Part::host;
  std::string name;
  State state = State::unknown;
  bool needed = true;  // false: its absence costs convenience or precision, not the part
  std::string detail;  // what was seen
  std::string why;     // what it is for
  std::string fix;     // what to do when it is absent; "" otherwise
};

[[nodiscard]] const char* name(State state);
[[nodiscard]] const char* name(Part part);

// Where every needed requirement of a part is present.
[[nodiscard]] bool complete(const std::vector<Requirement>& requirements, Part part);

}  // namespace kvet::capability
