// Finds every rank's collectives: host calls with the kernels that they launched, replayed graph nodes, and kernels whose
// host call was not seen.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "questions/nccl_calls.h"
#include "questions/nccl_graphs.h"
#include "questions/nccl_parts.h"
#include "questions/streams.h"

namespace kvet::questions {
namespace {

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
    std::tie(out.by, out.key) = key;
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
