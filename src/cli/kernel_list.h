// What ran in a capture, kernel by kernel.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/capture.h"
#include "questions/questions.h"

namespace kvet::cli {

struct ListedKernel {
  std::string name;  // raw
  StringId id;
  uint64_t executions = 0;
  uint64_t graph_executions = 0;  // of these
  double time_ns = 0;
  std::set<uint32_t> shapes;
  std::set<uint64_t> streams;  // process, context and stream folded into one number
  std::set<uint32_t> devices;
  std::set<uint64_t> code_hashes;  // known ones
};

// The longest-running first.
std::vector<ListedKernel> list_kernels(const Capture& capture);

// All shapes of one name, as the questions want them.
questions::KernelSet kernel_set_of(const Capture& capture, const ListedKernel& kernel);

// An error (bad_input) that says why the capture has no kernels, and what to do.
std::unexpected<Error> no_kernels(const Capture& capture);

}  // namespace kvet::cli
