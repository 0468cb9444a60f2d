#include "questions/nccl_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace kvet::questions {

const Member* Communicators::at(ProcessId process, uint64_t address, int64_t time) const {
  const auto found = members_.find({process.value, address});
  if (found == members_.end()) {
    return nullptr;
  }
  const auto after = std::ranges::upper_bound(found->second, time, {}, &Member::created_ns);
  return after == found->second.begin() ? nullptr : &*std::prev(after);
}

std::optional<int32_t> Communicators::rank_of_process(uint32_t process) const {
  const Member* largest = nullptr;
  bool several = false;
  for (auto entry = members_.lower_bound({process, 0}); entry != members_.end() && entry->first.first == process;
       ++entry) {
    for (const Member& member : entry->second) {
      if (member.rank < 0 || member.ranks == 0 || (largest != nullptr && member.ranks < largest->ranks)) {
        continue;
      }
      several = largest != nullptr && member.ranks == largest->ranks && (several || member.rank != largest->rank);
      largest = &member;
    }
  }
  return largest != nullptr && !several ? std::optional(largest->rank) : std::nullopt;
}

Communicators::Communicators(const Capture& capture) {
  std::vector<const Communicator*> order;
  order.reserve(capture.communicators.size());
  for (const Communicator& communicator : capture.communicators) {
    order.push_back(&communicator);
  }
  std::ranges::stable_sort(order, {}, &Communicator::created_ns);
  std::map<std::tuple<uint32_t, uint64_t, std::string>, uint32_t> splits;  // how often each parent was split
  std::map<std::string, std::pair<uint32_t, uint32_t>> in_sight;  // by key: members seen, ranks
  for (const Communicator* communicator : order) {
    Member member;
    member.rank = communicator->rank;
    member.ranks = communicator->ranks > 0 ? static_cast<uint32_t>(communicator->ranks) : 0;
    member.created_ns = communicator->created_ns;
    member.key = capture.text(communicator->unique_id);
    if (member.key.empty()) {
      // A split shows no id. All ranks of a parent split it together, so the parent, how many splits came before, and the
      // color name the same part in every rank.
      const Member* parent = at(communicator->process, communicator->parent, communicator->created_ns);
      if (parent == nullptr) {
        continue;
      }
      const uint32_t number = splits[{communicator->process.value, communicator->parent, parent->key}]++;
      member.key = fmt::format("{}/split {} color {}", parent->key, number, communicator->color);
    }
    auto& [seen, ranks] = in_sight[member.key];
    ++seen;
    ranks = std::max(ranks, member.ranks);
    members_[{communicator->process.value, communicator->communicator}].push_back(member);
  }
  // The size of a split is not recorded. Where the whole parent is in sight, so is the part.
  for (auto& [address, list] : members_) {
    for (Member& member : list) {
      if (member.ranks == 0) {
        const size_t cut = member.key.rfind("/split ");
        const auto parent = in_sight.find(member.key.substr(0, cut));
        if (parent != in_sight.end() && parent->second.second > 0 && parent->second.first == parent->second.second) {
          member.ranks = in_sight[member.key].first;
        }
      }
    }
  }
}

std::vector<Operation> operations_of(const Capture& capture, const std::vector<uint32_t>& calls) {
  std::vector<Operation> operations;
  std::vector<Operation> pending;  // of the open group, by communicator
  int depth = 0;
  int64_t outer_end = std::numeric_limits<int64_t>::min();
  for (uint32_t index : calls) {
    const CollectiveCall& call = capture.collective_calls[index];
    if (call.end_ns <= outer_end) {
      continue;  // a call that NCCL makes inside another one
    }
    outer_end = call.end_ns;
    if (call.kind == CollectiveKind::group_start) {
      ++depth;
    } else if (call.kind == CollectiveKind::group_end) {
      depth = std::max(0, depth - 1);
      if (depth == 0) {
        uint32_t position = 0;
        for (Operation& operation : pending) {
          operation.from_ns = call.start_ns;
          operation.to_ns = call.end_ns;
          operation.position = position++;
          operation.positions = static_cast<uint32_t>(pending.size());
          operations.push_back(std::move(operation));
        }
        pending.clear();
      }
    } else if (call.result != 0 && call.result != 7) {
      continue;  // it failed. 7 is ncclInProgress, of communicators that do not block
    } else if (depth > 0) {
      auto same = std::ranges::find_if(pending, [&](const Operation& operation) {
        return capture.collective_calls[operation.calls.front()].communicator == call.communicator;
      });
      if (same == pending.end()) {
        pending.push_back({{index}, 0, 0, 0, 1});
      } else {
        same->calls.push_back(index);
      }
    } else {
      operations.push_back({{index}, call.start_ns, call.end_ns, 0, 1});
    }
  }
  return operations;
}

CollectiveClass class_of(const Capture& capture, const std::vector<uint32_t>& calls) {
  CollectiveClass what;
  what.kind = capture.collective_calls[calls.front()].kind;
  what.operations = static_cast<uint32_t>(calls.size());
  what.bytes = 0;
  for (uint32_t index : calls) {
    const CollectiveCall& call = capture.collective_calls[index];
    if (call.kind != what.kind) {
      what.kind.reset();
    }
    const auto size = bytes_of_data_type(call.data_type);
    uint64_t bytes = 0;
    if (!size || !what.bytes || __builtin_mul_overflow(*size, call.count, &bytes) ||
        __builtin_add_overflow(*what.bytes, bytes, &bytes)) {
      what.bytes.reset();
    } else {
      what.bytes = bytes;
    }
  }
  return what;
}

std::vector<Peer> peers_of(const Capture& capture, const std::vector<uint32_t>& calls) {
  std::vector<Peer> peers;
  for (uint32_t index : calls) {
    const CollectiveCall& call = capture.collective_calls[index];
    if (point_to_point(call.kind)) {
      peers.push_back({call.peer_or_root, call.kind == CollectiveKind::send, class_of(capture, {index}).bytes});
    }
  }
  return peers;
}

}  // namespace kvet::questions
