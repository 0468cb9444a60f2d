// The four questions: pure functions from a capture to findings. Every number is defined in docs/findings.md.
// Nothing here reads a clock, a file or the environment, and nothing prints.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/capture.h"
#include "model/finding.h"

namespace kvet::questions {

// Which shapes belong to K, the kernel (or set of kernels) in question.
struct KernelSet {
  std::vector<bool> has_shape;  // by ShapeId
  std::string label;            // how to call it: the one name, or the first and how many more
  [[nodiscard]] bool contains(ShapeId id) const { return id.value < has_shape.size() && has_shape[id.value]; }
};

// Kernels whose demangled or mangled name matches one of the ECMAScript patterns (searched, not anchored). No match is
// bad_input: the message lists the names that were seen, the longest-running first.
Result<KernelSet> select_kernels(const Capture& capture, const std::vector<std::string>& patterns);

// A copy that holds only what lies inside [from_ns, to_ns): events that begin there. Samples are cut at the edges.
Capture within_window(const Capture& capture, int64_t from_ns, int64_t to_ns);

// Each answers one question for K. Never empty: what cannot be known is a finding with evidence `unavailable`.
std::vector<Finding> occupancy(const Capture& capture, const KernelSet& kernels);
std::vector<Finding> dram(const Capture& capture, const KernelSet& kernels);
std::vector<Finding> dispatch(const Capture& capture, const KernelSet& kernels);
std::vector<Finding> nccl(const Capture& capture, const KernelSet& kernels);

// Under which conditions K ran: clock, turns with other contexts, dependent launch, what part of its time was sampled.
std::vector<Finding> conditions(const Capture& capture, const KernelSet& kernels);

// About the capture as a whole: tier, losses, completeness, counts that must agree, causality violations.
std::vector<Finding> quality(const Capture& capture);

}  // namespace kvet::questions
