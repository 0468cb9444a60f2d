#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "merge/merge.h"

namespace kvet::merge {
namespace {

std::optional<int64_t> number(const Capture& capture, std::string_view key) {
  const std::string_view text = capture.fact(key);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && !text.empty() && end == text.data() + text.size() ? std::optional(value)
                                                                                   : std::nullopt;
}

// How much later CLOCK_MONOTONIC of `host` reads than that of `reference`, if both wall clocks are right.
std::optional<int64_t> by_wall_clock(const Capture& reference, const Capture& host) {
  const auto behind = [](const Capture& capture) -> std::optional<int64_t> {
    const auto monotonic = number(capture, "clock.monotonic_ns"), realtime = number(capture, "clock.realtime_ns");
    int64_t difference = 0;
    return monotonic && realtime && !__builtin_sub_overflow(*monotonic, *realtime, &difference)
               ? std::optional(difference)
               : std::nullopt;
  };
  const auto a = behind(reference), b = behind(host);
  int64_t difference = 0;
  return a && b && !__builtin_sub_overflow(*b, *a, &difference) ? std::optional(difference) : std::nullopt;
}

bool same_boot(const Capture& a, const Capture& b) {
  return !a.fact("boot_id").empty() && a.fact("boot_id") == b.fact("boot_id");
}

// A clock to one capture, and that one's to the first.
HostClock chained(const HostClock& near, const HostClock& far) {
  HostClock clock = near;
  clock.offset_ns = near.from_ns - far.to_reference(near.to_reference(near.from_ns));
  clock.drift = near.drift + far.drift;  // each below 1e-3: their product is nothing
  const auto sum = [](std::optional<int64_t> a, std::optional<int64_t> b) {
    return a && b ? std::optional(*a + *b) : a ? a : b;
  };
  clock.residual_ns = sum(near.residual_ns, far.residual_ns);
  clock.residual_p95_ns = sum(near.residual_p95_ns, far.residual_p95_ns);
  return clock;
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
      return fail(ErrorKind::bad_input,
                  "no collective links it to the other captures, so its clock cannot be aligned to theirs",
                  captures[host].path,
                  wall_clock ? "It does not say what the time of day was, either"
                             : "--wall-clock takes the hosts' time of day instead: good to milliseconds");
    }
    all.push_back(*placed[host]);
  }
  return all;
}

}  // namespace kvet::merge
