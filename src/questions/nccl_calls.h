// What NCCL's calls say by themselves: which communicator an address stood for, and which calls run as one operation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/capture.h"
#include "questions/nccl_parts.h"

namespace kvet::questions {

// A communicator of one rank, with a key that all its ranks share.
struct Member {
  std::string key;
  int32_t rank = -1;
  uint32_t ranks = 0;  // 0: unknown
  int64_t created_ns = 0;
};

class Communicators {
 public:
  explicit Communicators(const Capture& capture);
  // The communicator that had this address at that time. Addresses are used again after a communicator was destroyed.
  [[nodiscard]] const Member* at(ProcessId process, uint64_t address, int64_t time) const;
  // The process's rank in its largest communicator, used or not. Empty: it has none, or is several ranks at once.
  [[nodiscard]] std::optional<int32_t> rank_of_process(uint32_t process) const;

 private:
  std::map<std::pair<uint32_t, uint64_t>, std::vector<Member>> members_;  // by creation
};

// Operations that run as one: a single call, or what lies between a group's start and end on one communicator.
struct Operation {
  std::vector<uint32_t> calls;  // indices into collective_calls
  int64_t from_ns = 0, to_ns = 0;  // where its launches are: inside the call, or inside the end of the group
  uint32_t position = 0;  // among the communicators of its group
  uint32_t positions = 1;
};

// The operations of one thread; its calls, as indices into collective_calls, in order.
[[nodiscard]] std::vector<Operation> operations_of(const Capture& capture, const std::vector<uint32_t>& calls);
[[nodiscard]] CollectiveClass class_of(const Capture& capture, const std::vector<uint32_t>& calls);
// Its sends and receives.
[[nodiscard]] std::vector<Peer> peers_of(const Capture& capture, const std::vector<uint32_t>& calls);

[[nodiscard]] constexpr bool point_to_point(CollectiveKind kind) {
  return kind == CollectiveKind::send || kind == CollectiveKind::receive;
}

}  // namespace kvet::questions
