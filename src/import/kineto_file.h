// One file of the PyTorch profiler: what it says about itself, and its events, in one pass.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/byte_source.h"
#include "import/kineto_event.h"

namespace kvet::importing {

struct KinetoDevice {  // "deviceProperties"; 0: absent
  uint32_t ordinal = 0;
  std::string name;
  uint64_t memory_bytes = 0;
  uint32_t compute_major = 0, compute_minor = 0;
  uint32_t multiprocessors = 0, threads_per_multiprocessor = 0, warp_size = 0;
  uint32_t registers_per_multiprocessor = 0;
  uint32_t shared_bytes_per_multiprocessor = 0, shared_bytes_per_block = 0;
};

struct KinetoFacts {
  std::optional<int64_t> base_ns;  // "baseTimeNanoseconds": what was subtracted from Unix time
  std::optional<int64_t> rank, ranks;  // "distributedInfo"
  std::string schema_version, trace_name, cuda_driver_version, cuda_runtime_version, cupti_version, nccl_version;
  bool amd = false;  // it speaks of roctracer or HIP
  bool has_events = false;  // there is a "traceEvents"
  std::vector<KinetoDevice> devices;
  uint64_t kernels = 0, transfers = 0, kept = 0, skipped = 0;  // events
};

// Calls `on_event` for each event that kvet keeps, in the file's order; it may refuse the file. Errors are bad_input: what is wrong
// and at which byte, or what `on_event` says.
Result<KinetoFacts> read_trace(ByteSource& source, const std::string& name,
                               const std::function<Result<void>(const KinetoEvent&)>& on_event);

}  // namespace kvet::importing
