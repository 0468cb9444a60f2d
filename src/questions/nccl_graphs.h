// Which NCCL call a node of a replayed graph stands for. A replay makes no host call: operations are bound to nodes at capture,
// by order. Graphs are numbered as they were made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/capture.h"
#include "questions/nccl_parts.h"

namespace kvet::questions {

// An NCCL call under stream capture.
struct CapturedOperation {
  ProcessId process;
  int64_t at_ns = 0;
  std::string communicator;  // key that all its ranks share
  uint32_t ordinal = 0;  // among those captured on that communicator by this process; set by GraphBinding
  uint32_t ranks = 0;  // of the communicator; 0: unknown
  CollectiveClass what;
  int32_t root = -1, own_rank = -1;
  std::vector<Peer> peers;
};

class GraphBinding {
 public:
  GraphBinding(const Capture& capture, const std::vector<bool>& shape_is_nccl,
               std::vector<CapturedOperation> operations);

  // Null: not bound, since not every captured call has its node, or a kernel is not of its call's kind.
  [[nodiscard]] const CapturedOperation* of(const Execution& execution) const;

 private:
  std::vector<CapturedOperation> operations_;
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, size_t> bound_;  // process, graph, node → operation
};

}  // namespace kvet::questions
