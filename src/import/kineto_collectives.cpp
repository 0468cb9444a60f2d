#include "import/kineto_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace kvet::importing {
namespace {

// More process groups than any job has, and longer lists of ranks; what is beyond them keeps its calls, without a communicator.
constexpr size_t most_groups = 65536, most_ranks_bytes = size_t{64} << 20;

// FNV-1a: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv, section 2.
uint64_t hash_of(std::string_view name, std::string_view ranks) {
  uint64_t hash = 14'695'981'039'346'656'037u;
  for (const std::string_view text : {name, std::string_view("\n"), ranks}) {
    for (const char letter : text) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 1'099'511'628'211u;
    }
  }
  return hash;
}

// Elements as NCCL's call would give them: of the smaller side, and per rank.
uint64_t elements_of(CollectiveKind kind, const KinetoEvent::Collective& arguments) {
  const uint64_t in = arguments.elements_in.value_or(0), out = arguments.elements_out.value_or(0);
  switch (kind) {
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::receive:
    case CollectiveKind::scatter: return out;
    case CollectiveKind::all_to_all:
      return arguments.group_size.value_or(0) > 0 ? in / static_cast<uint64_t>(*arguments.group_size) : 0;
    default: return in;
  }
}

}  // namespace

std::optional<int32_t> place_in(std::string_view ranks, int64_t rank) {
  ranks = ranks.substr(0, ranks.find(".."));
  int32_t place = 0;
  for (size_t at = ranks.find_first_of("0123456789"); at < ranks.size(); at = ranks.find_first_of("0123456789", at)) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(ranks.data() + at, ranks.data() + ranks.size(), value);
    if (error != std::errc{}) {
      return std::nullopt;
    }
    if (value == rank) {
      return place;
    }
    ++place;
    at = static_cast<size_t>(end - ranks.data());
  }
  return std::nullopt;
}

std::optional<CollectiveCall> KinetoCollectives::call_of(const KinetoEvent::Collective& arguments) {
  const auto kind = collective_kind_of(arguments.name);
  if (!kind) {
    return std::nullopt;
  }
  CollectiveCall call;
  call.kind = *kind;
  call.data_type = nccl_data_type_of(arguments.data_type);
  call.count = elements_of(*kind, arguments);
  if (!arguments.group.empty() && arguments.group_size.value_or(0) > 0 && *arguments.group_size <= INT32_MAX) {
    const uint64_t hash = hash_of(arguments.group, arguments.ranks);
    if (const auto known = groups_.find(hash); known != groups_.end()) {
      call.communicator = hash;
    } else if (groups_.size() < most_groups && ranks_bytes_ + arguments.ranks.size() <= most_ranks_bytes) {
      ranks_bytes_ += arguments.ranks.size();
      groups_[hash] = {arguments.ranks, arguments.group_size, arguments.first_rank, arguments.rank_stride, {}};
      call.communicator = hash;
    }
  }
  return call;
}

void KinetoCollectives::used_at(uint64_t communicator, int64_t time_ns) {
  if (const auto group = groups_.find(communicator); group != groups_.end()) {
    group->second.first_used_ns = std::min(group->second.first_used_ns.value_or(time_ns), time_ns);
  }
}

void KinetoCollectives::finish(EventSink& sink, ProcessId process, std::optional<int64_t> rank) const {
  for (const auto& [hash, group] : groups_) {
    Communicator communicator;
    communicator.process = process;
    communicator.communicator = hash;
    communicator.ranks = static_cast<int32_t>(group.size.value_or(0));
    communicator.unique_id = sink.intern(fmt::format("{:016x}", hash));
    communicator.created_ns = group.first_used_ns.value_or(0);  // the file knows no better
    if (rank) {
      const auto place = place_in(group.ranks_text, *rank);
      const int64_t first = group.first_rank.value_or(-1), stride = group.rank_stride.value_or(0);
      if (place) {
        communicator.rank = *place;
      } else if (first >= 0 && stride > 0 && *rank >= first && (*rank - first) % stride == 0 &&
                 (*rank - first) / stride < group.size.value_or(0)) {
        communicator.rank = static_cast<int32_t>((*rank - first) / stride);
      }
    }
    sink.on(communicator);
  }
}

}  // namespace kvet::importing
