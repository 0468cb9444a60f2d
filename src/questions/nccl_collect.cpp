// Finds every rank's collectives: host calls with the kernels that they launched, replayed graph nodes, and kernels whose
// host call was not seen.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "questions/nccl_graphs.h"
#include "questions/nccl_parts.h"
#include "questions/streams.h"

namespace kvet::questions {
namespace {

bool point_to_point(CollectiveKind kind) { return kind == CollectiveKind::send || kind == CollectiveKind::receive; }

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

// Operations that run as one: a single call, or what lies between a group's start and end on one communicator.
struct Operation {
  std::vector<uint32_t> calls;  // indices into collective_calls
  int64_t from_ns = 0, to_ns = 0;  // where its launches are: inside the call, or inside the end of the group
  uint32_t position = 0;  // among the communicators of its group
  uint32_t positions = 1;
};

// The operations of one thread, in order.
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

// Its sends and receives.
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

constexpr uint32_t no_device = std::numeric_limits<uint32_t>::max();

class Collector {
 public:
  explicit Collector(const Capture& capture) : capture_(capture), communicators_(capture) {}
  Collectives collect();

 private:
  using SequenceKey = std::tuple<Sequence::By, std::string>;
  using RankKey = std::pair<uint32_t, uint32_t>;  // process, device
  using MemberKey = std::pair<uint32_t, uint64_t>;  // process; its communicator, or its device where that is not known
  struct Building {
    uint32_t ranks_expected = 0;
    bool bound = false;
    std::map<MemberKey, std::vector<Part>> members;
  };

  void index_launches();
  void from_host_calls();
  void add_operation(const Operation& operation, const std::vector<uint32_t>& launches);
  void from_kernels();
  uint32_t rank_of(const MemberKey& member, const std::vector<Part>& parts);
  std::string label_of(const RankKey& key) const;

  const Capture& capture_;
  Communicators communicators_;
  Collectives result_;
  std::map<std::pair<uint32_t, int32_t>, std::vector<uint32_t>> calls_of_thread_, launches_of_thread_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> executions_of_;  // by correlation, of launches inside NCCL calls
  std::vector<CapturedOperation> captured_;
  std::vector<bool> joined_;  // executions that a host call accounts for
  std::map<SequenceKey, Building> building_;
  std::map<MemberKey, std::vector<Part>> point_to_point_;
  std::map<RankKey, uint32_t> ranks_;
  std::map<RankKey, std::pair<uint32_t, int32_t>> best_rank_;  // size of the largest communicator, rank in it
};

// The launches of threads that call NCCL, inside such calls, and what they executed.
void Collector::index_launches() {
  for (uint32_t index = 0; index < capture_.collective_calls.size(); ++index) {
    const CollectiveCall& call = capture_.collective_calls[index];
    calls_of_thread_[{call.process.value, call.thread_id}].push_back(index);
    result_.calls += call.kind != CollectiveKind::group_start && call.kind != CollectiveKind::group_end ? 1 : 0;
  }
  for (uint32_t index = 0; index < capture_.api_calls.size(); ++index) {
    const ApiCall& call = capture_.api_calls[index];
    const auto thread = calls_of_thread_.find({call.process.value, call.thread_id});
    if (thread == calls_of_thread_.end() || !is_launch(call.kind)) {
      continue;
    }
    launches_of_thread_[thread->first].push_back(index);
    if (call.correlation_id != 0 && !call.captured) {
      // Only launches inside an NCCL call are of interest: the last call that began before it.
      const auto& calls = thread->second;
      const auto after = std::upper_bound(calls.begin(), calls.end(), call.start_ns, [&](int64_t time, uint32_t i) {
        return time < capture_.collective_calls[i].start_ns;
      });
      if (after != calls.begin() && call.end_ns <= capture_.collective_calls[*std::prev(after)].end_ns) {
        executions_of_[correlation_key(call.process, call.correlation_id)];
      }
    }
  }
  joined_.assign(capture_.executions.size(), false);
  for (uint32_t index = 0; index < capture_.executions.size(); ++index) {
    const Execution& execution = capture_.executions[index];
    if (execution.correlation_id == 0 || execution.graph_node_id != 0) {
      continue;
    }
    if (const auto launch = executions_of_.find(correlation_key(execution.process, execution.correlation_id));
        launch != executions_of_.end()) {
      launch->second.push_back(index);
    }
  }
}

void Collector::add_operation(const Operation& operation, const std::vector<uint32_t>& launches) {
  const CollectiveCall& first = capture_.collective_calls[operation.calls.front()];
  Part part;
  part.what = class_of(capture_, operation.calls);
  part.root = first.peer_or_root;
  part.call = operation.calls.front();
  part.call_end_ns = operation.to_ns;
  auto from = std::ranges::lower_bound(launches, operation.from_ns, {},
                                       [&](uint32_t i) { return capture_.api_calls[i].start_ns; });
  std::vector<uint32_t> own;
  for (; from != launches.end() && capture_.api_calls[*from].start_ns <= operation.to_ns; ++from) {
    own.push_back(*from);
  }
  if (operation.positions > 1) {
    // One launch for each communicator of the group, in the order in which they came; else they cannot be told apart.
    own = own.size() == operation.positions ? std::vector<uint32_t>{own[operation.position]} : std::vector<uint32_t>{};
  }
  for (uint32_t index : own) {
    const ApiCall& launch = capture_.api_calls[index];
    part.enqueue_ns += static_cast<double>(launch.end_ns - launch.start_ns);
    const auto executions = executions_of_.find(correlation_key(launch.process, launch.correlation_id));
    if (launch.correlation_id == 0 || executions == executions_of_.end()) {
      continue;
    }
    for (uint32_t which : executions->second) {
      const Execution& execution = capture_.executions[which];
      joined_[which] = true;
      if (!part.executed || execution.start_ns < part.start_ns) {
        part.execution = which;
      }
      part.start_ns = part.executed ? std::min(part.start_ns, execution.start_ns) : execution.start_ns;
      part.end_ns = part.executed ? std::max(part.end_ns, execution.end_ns) : execution.end_ns;
      part.executed = true;
      part.device = execution.device;
    }
  }
  const Member* member = communicators_.at(first.process, first.communicator, first.start_ns);
  part.peers = peers_of(capture_, operation.calls);
  part.communicator = part.peers.empty() || member == nullptr ? "" : member->key;
  if (member != nullptr) {
    part.own_rank = member->rank;
    auto& best = best_rank_[{first.process.value, part.executed ? part.device.value : no_device}];
    if (member->rank >= 0 && member->ranks >= best.first) {
      best = {member->ranks, member->rank};
    }
  }
  const bool captured = std::ranges::any_of(own, [&](uint32_t index) { return capture_.api_calls[index].captured; });
  if (captured && !part.executed && member != nullptr) {
    captured_.push_back(
        {first.process, first.start_ns, member->key, 0, member->ranks, part.what, part.root, member->rank, part.peers});
  }
  const MemberKey key{first.process.value, first.communicator};
  if (!part.peers.empty()) {
    point_to_point_[key].push_back(part);
    return;
  }
  // Without its communicator a call still tells kind and size, and is matched by order among its like.
  Building& sequence = building_[member != nullptr ? SequenceKey{Sequence::By::communicator, member->key}
                                                   : SequenceKey{Sequence::By::order, "calls " + to_text(part.what)}];
  sequence.ranks_expected = member != nullptr ? member->ranks : 0;
  sequence.members[key].push_back(part);
}

void Collector::from_host_calls() {
  for (const auto& [thread, calls] : calls_of_thread_) {
    for (const Operation& operation : operations_of(capture_, calls)) {
      add_operation(operation, launches_of_thread_[thread]);
    }
  }
  // A communicator may be used from several threads: its operations are numbered by time.
  for (auto& [key, sequence] : building_) {
    for (auto& [member, parts] : sequence.members) {
      std::ranges::stable_sort(parts, {},
                               [&](const Part& part) { return capture_.collective_calls[*part.call].start_ns; });
    }
  }
}

// Kernels that no host call accounts for: nodes of replayed graphs, and everything where NCCL's calls were not recorded.
void Collector::from_kernels() {
  std::map<RankKey, std::map<uint32_t, uint32_t>> graphs;  // ordinal of a graph among those with collectives
  std::map<std::pair<RankKey, uint32_t>, std::map<uint64_t, uint32_t>> nodes;  // ordinal of a node in its graph
  std::map<RankKey, std::map<uint64_t, uint32_t>> streams;
  const GraphBinding binding(capture_, result_.shape_is_nccl, std::move(captured_));
  for (uint32_t index = 0; index < capture_.executions.size(); ++index) {
    const Execution& execution = capture_.executions[index];
    if (joined_[index] || !result_.shape_is_nccl[execution.shape.value]) {
      continue;
    }
    const std::string& name = capture_.kernel_name(execution.shape);
    Part part;
    part.what.kind = kind_of_kernel(name);
    part.executed = true;
    part.start_ns = execution.start_ns;
    part.end_ns = execution.end_ns;
    part.device = execution.device;
    part.execution = index;
    const RankKey rank{execution.process.value, execution.device.value};
    if (const CapturedOperation* call = execution.graph_node_id != 0 ? binding.of(execution) : nullptr;
        call != nullptr) {
      part.what = call->what;
      part.root = call->root;
      part.own_rank = call->own_rank;
      part.peers = call->peers;
      if (!part.peers.empty()) {
        part.communicator = call->communicator;
        point_to_point_[rank].push_back(part);
        continue;
      }
      Building& sequence =
          building_[{Sequence::By::graph_node, fmt::format("captured {} of {}", call->ordinal, call->communicator)}];
      sequence.ranks_expected = call->ranks;
      sequence.bound = true;
      sequence.members[rank].push_back(part);
      continue;
    }
    if (part.what.kind && point_to_point(*part.what.kind)) {
      point_to_point_[rank].push_back(part);
      continue;
    }
    SequenceKey key;
    if (execution.graph_node_id != 0) {
      auto& seen = graphs[rank];
      const uint32_t graph = seen.try_emplace(execution.graph_id, static_cast<uint32_t>(seen.size())).first->second;
      auto& in_graph = nodes[{rank, execution.graph_id}];
      const uint32_t node =
          in_graph.try_emplace(execution.graph_node_id, static_cast<uint32_t>(in_graph.size())).first->second;
      key = {Sequence::By::graph_node, fmt::format("graph {} node {} {}", graph, node, name)};
    } else {
      auto& seen = streams[rank];
      const uint64_t stream = stream_key(execution.process, execution.context_id, execution.stream_id);
      key = {Sequence::By::order,
             fmt::format("stream {} {}", seen.try_emplace(stream, static_cast<uint32_t>(seen.size())).first->second,
                         name)};
    }
    building_[key].members[rank].push_back(part);
  }
}

// Which rank a list of parts belongs to: its process, and the device that its kernels ran on.
uint32_t Collector::rank_of(const MemberKey& member, const std::vector<Part>& parts) {
  const auto executed = std::ranges::find_if(parts, &Part::executed);
  const RankKey key{member.first, executed != parts.end() ? executed->device.value : no_device};
  return ranks_.try_emplace(key, static_cast<uint32_t>(ranks_.size())).first->second;
}

std::string Collector::label_of(const RankKey& key) const {
  if (const auto best = best_rank_.find(key); best != best_rank_.end() && best->second.first > 0) {
    return fmt::format("rank {}", best->second.second);
  }
  if (const auto rank = communicators_.rank_of_process(key.first)) {
    return fmt::format("rank {}", *rank);
  }
  const int32_t pid = key.first < capture_.processes.size() ? capture_.processes[key.first].pid : 0;
  return key.second == no_device ? fmt::format("process {}", pid)
                                 : fmt::format("process {}, device {}", pid, key.second);
}

Collectives Collector::collect() {
  for (const KernelShape& shape : capture_.shapes) {
    result_.shape_is_nccl.push_back(is_nccl_kernel(capture_.text(shape.name)));
  }
  index_launches();
  from_host_calls();
  from_kernels();
  auto numbered = [&](const MemberKey& member, std::vector<Part>& parts) {
    const uint32_t rank = rank_of(member, parts);
    for (Part& part : parts) {
      part.rank = rank;
    }
  };
  for (auto& [key, sequence] : building_) {
    Sequence out;
    out.by = std::get<0>(key);
    out.ranks_expected = sequence.ranks_expected;
    out.bound = sequence.bound;
    for (auto& [member, parts] : sequence.members) {
      numbered(member, parts);
      out.ranks.push_back(std::move(parts));
    }
    result_.sequences.push_back(std::move(out));
  }
  for (auto& [member, parts] : point_to_point_) {
    numbered(member, parts);
    result_.point_to_point.insert(result_.point_to_point.end(), parts.begin(), parts.end());
  }
  result_.ranks.resize(ranks_.size());
  std::map<std::string, uint32_t> labels;
  for (const auto& [key, number] : ranks_) {
    std::string label = label_of(key);
    // Two jobs in one recording both have a rank 0.
    if (labels[label]++ > 0) {
      label +=
          fmt::format(" (process {})", key.first < capture_.processes.size() ? capture_.processes[key.first].pid : 0);
    }
    result_.ranks[number] = {ProcessId{key.first}, DeviceId{key.second}, std::move(label)};
  }
  return std::move(result_);
}

}  // namespace

Collectives find_collectives(const Capture& capture) { return Collector(capture).collect(); }

}  // namespace kvet::questions
