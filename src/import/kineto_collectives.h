// Collectives as PyTorch records them on the host ("record_param_comms"): the operation, its size, and its process group.
//
// A process group stands for NCCL's communicator, which the file does not name. Its name and its ranks are the same on all ranks of
// a job, so their hash joins the ranks. The call is PyTorch's, around NCCL's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "import/kineto_event.h"
#include "model/event_sink.h"

namespace kvet::importing {

class KinetoCollectives {
 public:
  // Process, thread and times are left to the caller. Empty: no operation of NCCL, or the arguments do not say which.
  std::optional<CollectiveCall> call_of(const KinetoEvent::Collective& arguments);
  void used_at(uint64_t communicator, int64_t time_ns);
  // The communicators, once the file's own rank in the job is known.
  void finish(EventSink& sink, ProcessId process, std::optional<int64_t> rank) const;

 private:
  struct Group {
    std::string ranks_text;
    std::optional<int64_t> size, first_rank, rank_stride;
    std::optional<int64_t> first_used_ns;
  };
  std::map<uint64_t, Group> groups_;
  size_t ranks_bytes_ = 0;
};

// Which place a rank of the job has in "[0, 2, 4]". Empty: it is not there, or the list is cut ("[0, 2, ...]") before it.
[[nodiscard]] std::optional<int32_t> place_in(std::string_view ranks, int64_t rank);

}  // namespace kvet::importing
