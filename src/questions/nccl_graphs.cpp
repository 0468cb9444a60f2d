#include "questions/nccl_graphs.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace kvet::questions {
namespace {

bool pairwise(CollectiveKind kind) {
  return kind == CollectiveKind::send || kind == CollectiveKind::receive || kind == CollectiveKind::all_to_all ||
         kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
}

// Whether a kernel of that name may do that operation. Kernels for groups and for several kinds do not say which.
bool may_do(const std::optional<CollectiveKind>& kernel, const CollectiveClass& what) {
  return !kernel || !what.kind || *kernel == *what.kind || (pairwise(*kernel) && pairwise(*what.kind));
}

struct Node {
  uint32_t graph;
  uint64_t node;
  std::optional<CollectiveKind> kind;
};

// Of one process: the nodes with collectives of its graphs, in the order of capture. A communicator's collectives run in the order in
// which they were captured, whatever their nodes' numbers; those of several communicators may run in any, and are taken by number.
// Empty: on more than one device, where the order of the calls does not tell which is whose.
std::map<uint32_t, std::vector<Node>> nodes_of_processes(const Capture& capture, const std::vector<bool>& is_nccl,
                                                         const std::set<uint32_t>& several_communicators) {
  std::map<uint32_t, std::vector<Node>> out;
  std::set<std::tuple<uint32_t, uint32_t, uint64_t>> seen;
  std::map<uint32_t, std::set<DeviceId>> devices;
  for (const Execution& execution : capture.executions) {
    if (execution.graph_node_id == 0 || !is_nccl[execution.shape.value]) {
      continue;
    }
    const uint32_t process = execution.process.value;
    devices[process].insert(execution.device);
    if (seen.emplace(process, execution.graph_id, execution.graph_node_id).second) {
      out[process].push_back(
          {execution.graph_id, execution.graph_node_id, kind_of_kernel(capture.kernel_name(execution.shape))});
    }
  }
  for (auto& [process, nodes] : out) {
    if (devices[process].size() > 1) {
      nodes.clear();
    } else if (several_communicators.contains(process)) {
      std::ranges::sort(nodes, {}, [](const Node& node) { return std::pair{node.graph, node.node}; });
    } else {
      std::ranges::stable_sort(nodes, {}, &Node::graph);
    }
  }
  return out;
}

// Where the nodes of one graph can be among the calls: places at which every kernel may do what was called.
std::vector<size_t> places(const std::vector<Node>& nodes, const std::vector<const CapturedOperation*>& calls) {
  std::vector<size_t> found;
  for (size_t at = 0; at + nodes.size() <= calls.size(); ++at) {
    bool fits = true;
    for (size_t i = 0; i < nodes.size() && fits; ++i) {
      fits = may_do(nodes[i].kind, calls[at + i]->what);
    }
    if (fits) {
      found.push_back(at);
    }
  }
  return found;
}

}  // namespace

GraphBinding::GraphBinding(const Capture& capture, const std::vector<bool>& shape_is_nccl,
                           std::vector<CapturedOperation> operations)
    : operations_(std::move(operations)) {
  if (operations_.empty()) {
    return;
  }
  std::ranges::stable_sort(operations_, {}, &CapturedOperation::at_ns);
  std::map<std::pair<uint32_t, std::string>, uint32_t> counts;
  std::map<uint32_t, std::vector<const CapturedOperation*>> calls_of;
  for (CapturedOperation& one : operations_) {
    one.ordinal = counts[{one.process.value, one.communicator}]++;
    calls_of[one.process.value].push_back(&one);
  }
  std::set<uint32_t> several;
  for (auto count = counts.begin(); count != counts.end(); ++count) {
    if (const auto next = std::next(count); next != counts.end() && next->first.first == count->first.first) {
      several.insert(count->first.first);
    }
  }
  for (const auto& [process, nodes] : nodes_of_processes(capture, shape_is_nccl, several)) {
    const auto& calls = calls_of[process];
    auto bind = [&](const Node& node, const CapturedOperation* call) {
      bound_.emplace(std::tuple{process, node.graph, node.node}, static_cast<size_t>(call - operations_.data()));
    };
    // Every call has its node: one after the other.
    if (nodes.size() == calls.size()) {
      if (!places(nodes, calls).empty()) {
        for (size_t i = 0; i < nodes.size(); ++i) {
          bind(nodes[i], calls[i]);
        }
      }
      continue;
    }
    // Some graphs were never replayed, or the same one was made several times: a graph is bound where its kinds fit in one place only.
    for (size_t from = 0; from < nodes.size();) {
      size_t to = from;
      while (to < nodes.size() && nodes[to].graph == nodes[from].graph) {
        ++to;
      }
      const std::vector<Node> graph(nodes.begin() + static_cast<std::ptrdiff_t>(from),
                                    nodes.begin() + static_cast<std::ptrdiff_t>(to));
      if (const auto where = places(graph, calls); where.size() == 1) {
        for (size_t i = 0; i < graph.size(); ++i) {
          bind(graph[i], calls[where.front() + i]);
        }
      }
      from = to;
    }
  }
}

const CapturedOperation* GraphBinding::of(const Execution& execution) const {
  const auto found = bound_.find({execution.process.value, execution.graph_id, execution.graph_node_id});
  return found == bound_.end() ? nullptr : &operations_[found->second];
}

}  // namespace kvet::questions
