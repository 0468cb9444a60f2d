// From NCCL calls and kernels to collectives that are matched across ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/capture.h"

namespace kvet::questions {

// One rank in sight: a device of a process.
struct Rank {
  ProcessId process;
  DeviceId device;
  std::string label;  // "rank 1"; "process 4711, device 0" where no communicator was seen
};

// What kind of operation, and how large. Several operations of one group run as one kernel and count as one.
struct CollectiveClass {
  std::optional<CollectiveKind> kind;  // empty: a group of different ones, or unknown
  uint32_t operations = 1;             // of the group
  std::optional<uint64_t> bytes;       // count × size of the data type, as given to the call, over the group
  auto operator<=>(const CollectiveClass&) const = default;
};
[[nodiscard]] std::string to_text(const CollectiveClass& what);  // "all_reduce of 16 MiB"

// A send or receive of one operation.
struct Peer {
  int32_t rank = -1;  // in the communicator
  bool send = false;
  std::optional<uint64_t> bytes;
};

// One rank's part in one collective: one element of the sequence of operations on a communicator.
struct Part {
  uint32_t rank = 0;  // index into Ranks
  CollectiveClass what;
  int32_t root = -1;  // −1: none or unknown
  int32_t own_rank = -1;  // in the communicator
  std::optional<uint32_t> call;    // index into Capture::collective_calls; of a group: its first operation
  std::optional<int64_t> call_end_ns;  // of the call, or of the group's end
  double enqueue_ns = 0;           // inside the launch calls that it made
  bool executed = false;           // false: captured into a graph, its execution was lost, or the tier sees none
  DeviceId device;                 // where executed
  int64_t start_ns = 0, end_ns = 0;  // on the device: first start to last end of its kernels
  std::optional<uint32_t> execution;  // that began first, as index into Capture::executions
  std::vector<Peer> peers;  // of sends and receives, in order; a group has several
  std::string communicator;  // with peers: key that all ranks share
  int64_t shift_ns = 0;  // added to start and end by the alignment of the ranks' clocks
};

// The parts of all ranks that belong to one sequence, rank by rank in order: the n-th of one rank and the n-th of another
// are the same collective, unless the recording began between them.
struct Sequence {
  enum class By : uint8_t { communicator, graph_node, order } by = By::communicator;
  std::string key;  // by communicator, or of bound graph nodes: the same on every host
  uint32_t ranks_expected = 0;  // 0: unknown
  bool bound = false;  // graph nodes: to the calls that captured them
  std::vector<std::vector<Part>> ranks;  // each belongs to one rank
};

struct Collectives {
  std::vector<Rank> ranks;
  std::vector<Sequence> sequences;
  std::vector<Part> point_to_point;  // sends and receives
  std::vector<bool> shape_is_nccl;  // by ShapeId
  uint64_t calls = 0;  // operations, not counting group starts and ends
};
[[nodiscard]] Collectives find_collectives(const Capture& capture);

[[nodiscard]] bool is_nccl_kernel(std::string_view mangled_name);
// The kind that a kernel's name tells: ncclDevKernel_AllReduce_Sum_f32_RING_LL. Empty: none.
[[nodiscard]] std::optional<CollectiveKind> kind_of_kernel(std::string_view mangled_name);
// ncclDataType_t of nccl.h 2.x. Empty: not known to us.
[[nodiscard]] std::optional<uint64_t> bytes_of_data_type(int32_t data_type);
[[nodiscard]] const char* kind_name(CollectiveKind kind);

// One collective with the parts of the ranks in sight.
struct Matched {
  Sequence::By by = Sequence::By::communicator;
  bool all_ranks = false;  // every rank of the communicator is in sight
  bool by_name = false;  // by its number on a communicator, or a graph node that is bound to one; else by order alone
  std::vector<Part> parts;  // two or more, all executed
};
// What has to be subtracted from a rank's times: offset + drift × (time − from).
struct RankClock {
  int64_t from_ns = 0;
  double offset_ns = 0, drift = 0;
  [[nodiscard]] int64_t correction_at(int64_t time) const;
};
struct MatchResult {
  std::vector<Matched> collectives;
  uint64_t sequences_matched = 0;
  uint64_t sequences_contradictory = 0;  // whose parts cannot be made to overlap in time: not used
  uint64_t parts_alone = 0;  // without a partner
  // Median |end − median end| over collectives that all ranks depend on, after the ranks' clocks were aligned by these ends.
  std::optional<int64_t> residual_ns;
  std::vector<RankClock> clocks;  // by rank; empty where no ends tell
  int64_t largest_shift_ns = 0;  // of any rank by that alignment
};
[[nodiscard]] MatchResult match_ranks(const Collectives& collectives);
// By how many places b has to be moved against a for their elements to be the same operations: see nccl_match.cpp. Empty: none makes sense.
[[nodiscard]] std::optional<int> best_shift(const std::vector<Part>& a, const std::vector<Part>& b);

// Whether the result of every rank depends on every other: all-reduce, all-gather, reduce-scatter, all-to-all.
[[nodiscard]] bool all_depend(const CollectiveClass& what);
// Whether the result of `part` depends on `other`.
[[nodiscard]] bool depends_on(const Part& part, const Part& other);

}  // namespace kvet::questions
