#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "merge/merge.h"
#include "model/facts.h"

namespace kvet::merge {
namespace {

// How much later CLOCK_MONOTONIC of `host` reads than that of `reference`, if both wall clocks are right.
std::optional<int64_t> by_wall_clock(const Capture& reference, const Capture& host) {
  const auto a = unix_offset_ns(reference), b = unix_offset_ns(host);
  int64_t difference = 0;
  return a && b && !__builtin_sub_overflow(*a, *b, &difference) ? std::optional(difference) : std::nullopt;
}

bool same_boot(const Capture& a, const Capture& b) {
  return !a.fact("boot_id").empty() && a.fact("boot_id") == b.fact("boot_id");
}

// A clock to one capture, and that one's to the first.
HostClock chained(const HostClock& near, const HostClock& far) {
  HostClock clock = near;
  clock.offset_ns = difference(near.from_ns, far.to_reference(near.to_reference(near.from_ns)));
  clock.drift = near.drift + far.drift;  // each below 1e-3: their product is nothing
  const auto sum = [](std::optional<int64_t> a, std::optional<int64_t> b) {
    return a && b ? std::optional(*a + *b) : a ? a : b;
  };
  clock.residual_ns = sum(near.residual_ns, far.residual_ns);
  clock.residual_p95_ns = sum(near.residual_p95_ns, far.residual_p95_ns);
  return clock;
}

// Two captures that hold the same rank of one job, or the same process, are the same data twice: every sum would be wrong.
Result<void> nothing_twice(const std::vector<Capture>& captures) {
  std::map<std::tuple<std::string, int32_t, int64_t>, size_t> processes;  // of a boot: pid and start, by their capture
  std::map<std::pair<std::string, int32_t>, size_t> seen;  // communicator and rank, by the capture that holds it
  for (size_t n = 0; n < captures.size(); ++n) {
    for (const Communicator& member : captures[n].communicators) {
      const std::string& id = captures[n].text(member.unique_id);
      if (id.empty() || member.rank < 0) {
        continue;
      }
      const auto [found, added] = seen.try_emplace({id, member.rank}, n);
      if (!added && found->second != n) {
        return fail(ErrorKind::bad_input,
                    fmt::format("rank {} of a communicator is in this capture and in {}", member.rank,
                                captures[found->second].path),
                    captures[n].path, "Give each rank's capture once");
      }
    }
    const std::string boot(captures[n].fact("boot_id"));
    for (const Process& process : captures[n].processes) {
      const auto [found, added] = processes.try_emplace({boot, process.pid, process.start_ns}, n);
      if (!added && found->second != n && !boot.empty()) {
        return fail(ErrorKind::bad_input,
                    fmt::format("process {} is in this capture and in {}", process.pid, captures[found->second].path),
                    captures[n].path, "Give each capture once");
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Placed>> place(const std::vector<Capture>& captures, bool wall_clock) {
  std::vector<std::vector<SharedSequence>> sequences;
  for (const Capture& capture : captures) {
    if (!capture.complete) {
      return fail(ErrorKind::bad_input, "the capture is not complete: its recorder did not finish", capture.path,
                  "Record again, or merge the others without it");
    }
    sequences.push_back(shared_sequences(capture));
  }
  if (auto distinct = nothing_twice(captures); !distinct) {
    return std::unexpected(distinct.error());
  }
  std::vector<std::optional<Placed>> placed(captures.size());
  placed[0].emplace();
  // One after the other, each by the best link to those that have their place already.
  for (size_t round = 1; round < captures.size(); ++round) {
    std::optional<Placed> best;
    size_t which = 0;
    for (size_t host = 0; host < captures.size(); ++host) {
      for (size_t known = 0; !placed[host] && known < captures.size(); ++known) {
        if (!placed[known]) {
          continue;
        }
        std::optional<Placed> link;
        if (same_boot(captures[known], captures[host])) {
          link = Placed{placed[known]->clock, LinkedBy::boot};
        } else if (const auto clock =
                       align(sequences[known], sequences[host], by_wall_clock(captures[known], captures[host]))) {
          link = Placed{chained(*clock, placed[known]->clock), LinkedBy::collectives};
        }
        if (link && (!best || link->clock.residual_ns.value_or(0) < best->clock.residual_ns.value_or(0))) {
          best = link;
          which = host;
        }
      }
    }
    if (!best) {
      break;
    }
    placed[which] = best;
  }
  std::vector<Placed> all;
  for (size_t host = 0; host < captures.size(); ++host) {
    if (!placed[host] && wall_clock) {
      if (const auto ahead = by_wall_clock(captures[0], captures[host])) {
        placed[host] = Placed{{.offset_ns = *ahead}, LinkedBy::wall_clock};
      }
    }
    if (!placed[host]) {
      const bool told = by_wall_clock(captures[0], captures[host]).has_value();
      return fail(
          ErrorKind::bad_input,
          "no collective links it to the other captures, so its clock cannot be aligned to theirs", captures[host].path,
          told ? "--wall-clock takes the hosts' time of day instead: good to milliseconds"
               : "Nor do the captures say what the time of day was. Record ranks that have a communicator in common");
    }
    all.push_back(*placed[host]);
  }
  return all;
}

}  // namespace kvet::merge
