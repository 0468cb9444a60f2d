#include "probes/nccl/decode.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "probes/kernel/event.h"

namespace kvet::probes {

namespace {

std::optional<CollectiveKind> collective_kind(uint32_t operation) {
  switch (static_cast<kvet_collective>(operation)) {
    case KVET_COLLECTIVE_ALL_REDUCE: return CollectiveKind::all_reduce;
    case KVET_COLLECTIVE_ALL_GATHER: return CollectiveKind::all_gather;
    case KVET_COLLECTIVE_REDUCE_SCATTER: return CollectiveKind::reduce_scatter;
    case KVET_COLLECTIVE_BROADCAST: return CollectiveKind::broadcast;
    case KVET_COLLECTIVE_REDUCE: return CollectiveKind::reduce;
    case KVET_COLLECTIVE_ALL_TO_ALL: return CollectiveKind::all_to_all;
    case KVET_COLLECTIVE_SEND: return CollectiveKind::send;
    case KVET_COLLECTIVE_RECEIVE: return CollectiveKind::receive;
    case KVET_COLLECTIVE_GATHER: return CollectiveKind::gather;
    case KVET_COLLECTIVE_SCATTER: return CollectiveKind::scatter;
    case KVET_COLLECTIVE_GROUP_START: return CollectiveKind::group_start;
    case KVET_COLLECTIVE_GROUP_END: return CollectiveKind::group_end;
  }
  return std::nullopt;
}

// What all ranks of a communicator share. ncclCommInitAll makes all its ranks in one call and shows no id: the process
// and the time of the call stand for one.
std::string unique_id(const kvet_event_communicator& event) {
  if (event.id_known != 0) {
    std::string text;
    text.reserve(2 * sizeof event.id);
    for (const unsigned char byte : event.id) {
      fmt::format_to(std::back_inserter(text), "{:02x}", byte);
    }
    return text;
  }
  if (event.parent != 0) {
    return {};
  }
  return fmt::format("process-{}-at-{}", event.header.process_id, event.header.time_ns);
}

}  // namespace

bool NcclDecoder::decode_call(std::span<const std::byte> bytes) {
  const auto event = take_event<kvet_event_collective_call>(bytes, KVET_EVENT_COLLECTIVE_CALL);
  const auto kind = event ? collective_kind(event->operation) : std::nullopt;
  if (!kind || event->return_ns < event->header.time_ns) {
    return false;
  }
  CollectiveCall call;
  call.start_ns = static_cast<int64_t>(event->header.time_ns);
  call.end_ns = static_cast<int64_t>(event->return_ns);
  call.process = processes_.at(static_cast<int32_t>(event->header.process_id), call.start_ns);
  call.thread_id = static_cast<int32_t>(event->header.thread_id);
  call.kind = *kind;
  call.communicator = event->communicator;
  call.stream_handle = event->stream;
  call.count = event->count;
  call.data_type = event->data_type;
  call.peer_or_root = event->peer_or_root;
  call.result = event->result;
  sink_.on(call);
  return true;
}

bool NcclDecoder::decode_communicator(std::span<const std::byte> bytes) {
  const auto event = take_event<kvet_event_communicator>(bytes, KVET_EVENT_COMMUNICATOR);
  if (!event) {
    return false;
  }
  if (event->communicator == 0) {
    return true;  // the call failed, or this rank is in none of the parts of a split
  }
  Communicator communicator;
  communicator.created_ns = static_cast<int64_t>(event->return_ns);
  communicator.process = processes_.at(static_cast<int32_t>(event->header.process_id), communicator.created_ns);
  communicator.communicator = event->communicator;
  communicator.parent = event->parent;
  communicator.rank = event->rank;
  communicator.ranks = event->ranks;
  communicator.color = event->color;
  communicator.unique_id = sink_.intern(unique_id(*event));
  sink_.on(communicator);
  return true;
}

void NcclDecoder::decode(std::span<const std::byte> event) {
  if (decode_call(event) || decode_communicator(event)) {
    ++decoded_;
  } else {
    ++rejected_;
  }
}

}  // namespace kvet::probes
