// What CUPTI says about this process's own launches, gathered for the conformance program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace conformance {

struct SeenKernel {
  std::string name;
  uint64_t start, end, graph_node_id;
  uint32_t correlation_id, stream_id, graph_id, context_id;
  uint32_t grid[3], block[3];
  int registers, dynamic_shared_bytes;
};
struct SeenCall {
  uint32_t callback_id, correlation_id, thread_id, result;
  uint64_t start, end;
};
struct SeenTransfer {
  bool is_fill;
  uint32_t copy_kind, correlation_id;
  uint64_t bytes, start, end;
};

// Before cuInit. nullptr, or why CUPTI cannot be used.
const char* start_activity();
// Asks for everything that has ended.
void flush_activity();

std::vector<SeenKernel> kernels();
std::vector<SeenCall> calls();
std::vector<SeenTransfer> transfers();
uint64_t dropped_records();
void forget_activity();

}  // namespace conformance
