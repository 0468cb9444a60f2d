// One event of a PyTorch profiler's trace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "import/json_reader.h"
#include "import/kineto_names.h"
#include "model/events.h"

namespace kvet::importing {

struct KinetoEvent {
  KinetoCategory category = KinetoCategory::other;
  bool process_name = false;  // metadata: `label` is the name of process `pid`
  std::string name, label;
  std::optional<ApiKind> api_kind;
  // The file's own clock. Empty with `has_…`: beyond what a capture can hold.
  bool has_start = false, has_duration = false;
  std::optional<int64_t> start_ns, duration_ns;
  std::optional<int64_t> process, thread;  // empty: absent, or text
  uint64_t position = 0;                   // of its first byte

  std::optional<uint32_t> device, context, stream, correlation;
  std::optional<uint32_t> registers, shared_bytes, graph;
  std::optional<uint64_t> bytes, graph_node;
  std::array<uint32_t, 3> grid{}, block{};  // 0: absent

  struct Collective {
    std::string name, group, ranks, data_type;
    std::optional<uint64_t> elements_in, elements_out;
    std::optional<int64_t> group_size, first_rank, rank_stride;
  } collective;
};

// Reads the event that begins next in the array into `event`, from scratch. False: it is of a kind that kvet does not keep, and was
// skipped. Faults: what an event must not be (two values for one key, a time that is no number).
bool read_event(JsonReader& reader, KinetoEvent& event);

}  // namespace kvet::importing
