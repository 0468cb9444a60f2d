#include <fmt/core.h>

#include <iterator>

#include "questions/nccl_parts.h"

namespace kvet::questions {

const char* kind_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return "all_reduce";
    case CollectiveKind::all_gather: return "all_gather";
    case CollectiveKind::reduce_scatter: return "reduce_scatter";
    case CollectiveKind::broadcast: return "broadcast";
    case CollectiveKind::reduce: return "reduce";
    case CollectiveKind::all_to_all: return "all_to_all";
    case CollectiveKind::send: return "send";
    case CollectiveKind::receive: return "receive";
    case CollectiveKind::gather: return "gather";
    case CollectiveKind::scatter: return "scatter";
    case CollectiveKind::group_start: return "group_start";
    case CollectiveKind::group_end: return "group_end";
  }
  return "?";
}

// NCCL up to 2.18: ncclKernel_AllReduce_RING_LL_Sum_float; from 2.19: ncclDevKernel_AllReduce_Sum_f32_RING_LL; the symmetric
// ones of 2.27: ncclSymkDevKernel_AllReduce_…. C++ mangling puts "_Z" and a length in front.
bool is_nccl_kernel(std::string_view name) {
  if (name.starts_with("_Z")) {
    name.remove_prefix(2);
    while (!name.empty() && name.front() >= '0' && name.front() <= '9') {
      name.remove_prefix(1);
    }
  }
  return name.starts_with("ncclDevKernel") || name.starts_with("ncclKernel") || name.starts_with("ncclSymkDevKernel") ||
         name.starts_with("ncclSymDevKernel");
}

std::optional<CollectiveKind> kind_of_kernel(std::string_view name) {
  struct Word {
    std::string_view word;
    CollectiveKind kind;
  };
  static constexpr Word words[] = {{"Kernel_AllReduce", CollectiveKind::all_reduce},
                                   {"Kernel_AllGather", CollectiveKind::all_gather},
                                   {"Kernel_ReduceScatter", CollectiveKind::reduce_scatter},
                                   {"Kernel_Broadcast", CollectiveKind::broadcast},
                                   {"Kernel_Reduce_", CollectiveKind::reduce},
                                   {"Kernel_SendRecv", CollectiveKind::send}};
  for (const Word& word : words) {
    if (name.find(word.word) != std::string_view::npos) {
      return word.kind;
    }
  }
  return std::nullopt;
}

// nccl.h 2.24: int8 0, uint8 1, int32 2, uint32 3, int64 4, uint64 5, float16 6, float32 7, float64 8, bfloat16 9,
// float8e4m3 10, float8e5m2 11.
std::optional<uint64_t> bytes_of_data_type(int32_t data_type) {
  static constexpr uint64_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  if (data_type < 0 || static_cast<size_t>(data_type) >= std::size(bytes)) {
    return std::nullopt;
  }
  return bytes[data_type];
}

std::string to_text(const CollectiveClass& what) {
  std::string text = what.kind ? kind_name(*what.kind) : "mixed group";
  if (what.operations > 1) {
    text = fmt::format("group of {} {}", what.operations, what.kind ? kind_name(*what.kind) : "operations");
  }
  if (!what.bytes) {
    return text + ", size unknown";
  }
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  uint64_t whole = *what.bytes;
  size_t unit = 0;
  while (unit + 1 < std::size(units) && whole >= 1024 && whole % 1024 == 0) {
    whole /= 1024;
    ++unit;
  }
  return text + fmt::format(" of {} {}", whole, units[unit]);
}

bool all_depend(const CollectiveClass& what) {
  return what.kind == CollectiveKind::all_reduce || what.kind == CollectiveKind::all_gather ||
         what.kind == CollectiveKind::reduce_scatter || what.kind == CollectiveKind::all_to_all;
}

bool depends_on(const Part& part, const Part& other) {
  if (all_depend(part.what) || !part.what.kind || part.root < 0 || part.own_rank < 0 || other.own_rank < 0) {
    return true;  // where the root is not known, everybody is taken for it
  }
  switch (*part.what.kind) {
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter: return other.own_rank == part.root || other.own_rank == part.own_rank;
    case CollectiveKind::reduce:
    case CollectiveKind::gather: return part.own_rank == part.root || other.own_rank == part.own_rank;
    default: return true;
  }
}

}  // namespace kvet::questions
