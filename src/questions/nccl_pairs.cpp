#include "questions/nccl_pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "questions/distribution.h"
#include "questions/make_finding.h"

namespace kvet::questions {
namespace {

constexpr const char* subject = "sends and receives: all";
constexpr size_t ranks_listed = 16;

// What one communicator's rank sent to another, or that one received from it, in order.
struct Channel {
  std::vector<Part> sent, received;
  std::vector<size_t> senders, receivers;  // whose operations they are
};

int64_t time_of(const Part& part) { return part.executed ? part.start_ns : part.call_end_ns.value_or(0); }

// As one operation of its own, whatever else is in its group.
Part alone(const Part& part, const Peer& peer) {
  Part one = part;
  one.what = {std::nullopt, 1, peer.bytes};
  return one;
}

std::map<std::tuple<std::string, int32_t, int32_t>, Channel> channels_of(const std::vector<Part>& operations) {
  std::vector<size_t> order;
  for (size_t index = 0; index < operations.size(); ++index) {
    if (operations[index].own_rank >= 0 && !operations[index].communicator.empty()) {
      order.push_back(index);
    }
  }
  std::ranges::stable_sort(order, {}, [&](size_t index) { return time_of(operations[index]); });
  std::map<std::tuple<std::string, int32_t, int32_t>, Channel> channels;
  for (size_t index : order) {
    const Part& part = operations[index];
    for (const Peer& peer : part.peers) {
      Channel& channel = peer.send ? channels[{part.communicator, part.own_rank, peer.rank}]
                                   : channels[{part.communicator, peer.rank, part.own_rank}];
      (peer.send ? channel.sent : channel.received).push_back(alone(part, peer));
      (peer.send ? channel.senders : channel.receivers).push_back(index);
    }
  }
  return channels;
}

}  // namespace

Pairs match_pairs(const Collectives& collectives, const std::vector<RankClock>& clocks) {
  std::vector<Part> operations = collectives.point_to_point;
  for (Part& part : operations) {
    const int64_t correction = part.rank < clocks.size() ? clocks[part.rank].correction_at(part.end_ns) : 0;
    part.start_ns -= correction;
    part.end_ns -= correction;
  }
  struct Seen {
    int64_t latest_ns = 0;
    size_t peers = 0;
  };
  std::vector<Seen> seen(operations.size());
  auto meet = [&](size_t one, size_t other) {
    seen[one].latest_ns =
        seen[one].peers == 0 ? operations[other].start_ns : std::max(seen[one].latest_ns, operations[other].start_ns);
    ++seen[one].peers;
  };
  for (const auto& [key, channel] : channels_of(operations)) {
    const auto shift =
        channel.sent.empty() || channel.received.empty() ? std::nullopt : best_shift(channel.sent, channel.received);
    for (size_t index = 0; shift && index < channel.sent.size(); ++index) {
      const int64_t at = static_cast<int64_t>(index) + *shift;
      if (at < 0 || at >= static_cast<int64_t>(channel.received.size())) {
        continue;
      }
      const size_t sender = channel.senders[index], receiver = channel.receivers[static_cast<size_t>(at)];
      if (operations[sender].executed && operations[receiver].executed &&
          channel.sent[index].what == channel.received[static_cast<size_t>(at)].what) {
        meet(sender, receiver);
        meet(receiver, sender);
      }
    }
  }
  Pairs pairs;
  for (size_t index = 0; index < operations.size(); ++index) {
    const Part& part = operations[index];
    if (!part.executed) {
      continue;
    }
    if (seen[index].peers == 0) {
      ++pairs.unmatched;
      continue;
    }
    const int64_t latest = std::max(part.start_ns, seen[index].latest_ns);
    pairs.measured.push_back({part.rank, static_cast<double>(std::min(part.end_ns, latest) - part.start_ns),
                              static_cast<double>(std::max<int64_t>(0, part.end_ns - latest)),
                              seen[index].peers == part.peers.size()});
  }
  return pairs;
}

void append_point_to_point(std::vector<Finding>& findings, const NcclAnalysis& analysis) {
  if (analysis.collectives.point_to_point.empty()) {
    return;
  }
  const Pairs pairs = match_pairs(analysis.collectives, analysis.matches.clocks);
  struct OfRank {
    std::vector<double> wait, transfer;
    double total = 0;
    bool all_peers = true;
  };
  std::map<uint32_t, OfRank> ranks;
  for (const PairMeasured& one : pairs.measured) {
    OfRank& of = ranks[one.rank];
    of.wait.push_back(one.wait_ns);
    of.transfer.push_back(one.transfer_ns);
    of.total += one.wait_ns;
    of.all_peers = of.all_peers && one.all_peers;
  }
  for (auto& [rank, of] : ranks) {
    if (rank >= ranks_listed) {
      break;
    }
    const std::string& label = analysis.collectives.ranks[rank].label;
    const Evidence evidence = of.all_peers ? Evidence::measured : Evidence::attributed;
    const std::string caveat = of.all_peers ? "" : "; not all peers are in sight: a lower bound";
    auto distribution = [&](const char* id, const std::string& what, std::vector<double>& values) {
      append_distribution(findings,
                          {Question::nccl, id, subject, label, what + caveat, "ns", evidence, analysis.residual(), 0},
                          values);
    };
    const uint64_t count = of.wait.size();
    distribution("nccl.arrival_wait",
                 "From the start of a send, receive or group of them to the latest start of its peers", of.wait);
    distribution("nccl.transfer", "From that latest start to its own end", of.transfer);
    findings.push_back(found(Question::nccl, "nccl.arrival_wait.total", subject, of.total, "ns", evidence, count,
                             "All of the rank's waiting for later peers" + caveat));
    findings.back().beside = label;
  }
  findings.push_back(
      found(Question::nccl, "nccl.unmatched", subject, static_cast<double>(pairs.unmatched), "count",
            Evidence::measured, pairs.unmatched + pairs.measured.size(),
            "Sends and receives that ran and have no partner on another rank: their peers, communicators or calls were "
            "not recorded"));
}

}  // namespace kvet::questions
