#include "import/kineto_clocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace kvet::importing {
namespace {

// Without baseTimeNanoseconds profilers write Unix time. A file that was cut or changed may count from elsewhere: what is not
// between 2015, before the first of them, and 2100 is taken for no date.
bool is_unix_time(const KinetoTrace& trace) {
  constexpr int64_t year_2015_ns = 1'420'070'400'000'000'000, year_2100_ns = 4'102'444'800'000'000'000;
  return trace.summary.first_ns && *trace.summary.first_ns >= year_2015_ns && *trace.summary.first_ns < year_2100_ns;
}

const KinetoTrace* earliest_to_end(const std::vector<KinetoTrace>& traces, const std::vector<int64_t>& shifts) {
  size_t found = 0;
  for (size_t i = 1; i < traces.size(); ++i) {
    if (*traces[i].summary.last_ns + shifts[i] < *traces[found].summary.last_ns + shifts[found]) {
      found = i;
    }
  }
  return &traces[found];
}

}  // namespace

Result<void> ranks_of_one_run(const std::vector<KinetoTrace>& traces) {
  std::map<int64_t, const KinetoTrace*> by_rank;
  const KinetoTrace* sized = nullptr;
  for (const KinetoTrace& trace : traces) {
    if (trace.facts.rank) {
      const auto [other, added] = by_rank.try_emplace(*trace.facts.rank, &trace);
      if (!added) {
        return fail(ErrorKind::bad_input,
                    fmt::format("is of rank {}, and so is {}", *trace.facts.rank, other->second->name), trace.name,
                    "Give one file per rank; files of several runs become captures of their own");
      }
    }
    if (trace.facts.ranks) {
      if (sized != nullptr && sized->facts.ranks != trace.facts.ranks) {
        return fail(ErrorKind::bad_input,
                    fmt::format("is of a job of {} ranks, and {} of one of {}", *trace.facts.ranks, sized->name,
                                *sized->facts.ranks),
                    trace.name, "Give the ranks of one run; other runs become captures of their own");
      }
      sized = &trace;
    }
  }
  return {};
}

Result<KinetoClock> common_clock(const std::vector<KinetoTrace>& traces) {
  KinetoClock clock;
  const auto with_base = static_cast<size_t>(
      std::ranges::count_if(traces, [](const KinetoTrace& trace) { return trace.facts.base_ns.has_value(); }));
  if (with_base != 0 && with_base != traces.size()) {
    for (const KinetoTrace& trace : traces) {
      clock.shifts_ns.push_back(-*trace.summary.first_ns);
    }
    clock.description =
        "each file's first event is at 0: some of the files have a baseTimeNanoseconds and some not, so they share no "
        "clock";
    return clock;
  }
  int64_t least = 0;
  if (with_base != 0) {
    least = *std::ranges::min_element(traces, {}, [](const KinetoTrace& t) { return *t.facts.base_ns; })->facts.base_ns;
    clock.base_ns = least;
  } else if (std::ranges::all_of(traces, is_unix_time)) {
    clock.base_ns = 0;
  }
  for (const KinetoTrace& trace : traces) {
    clock.shifts_ns.push_back(trace.facts.base_ns.value_or(least) - least);
  }
  const KinetoTrace* ends_first = earliest_to_end(traces, clock.shifts_ns);
  const int64_t end = *ends_first->summary.last_ns + clock.shifts_ns[static_cast<size_t>(ends_first - traces.data())];
  for (size_t i = 0; i < traces.size(); ++i) {
    const int64_t start = *traces[i].summary.first_ns + clock.shifts_ns[i];
    if (start > end) {
      return fail(ErrorKind::bad_input,
                  fmt::format("begins {:.3f} s after {} ends: their clocks disagree, or they are not of one run",
                              (static_cast<double>(start) - static_cast<double>(end)) / 1e9, ends_first->name),
                  traces[i].name, "Give ranks that were profiled at one time, by hosts with synchronised clocks");
    }
  }
  clock.description = with_base != 0
                          ? "Unix time of each rank's host, less import.base_time_ns"
                          : "the files' own times, which older profilers write as Unix time of each rank's host";
  return clock;
}

KinetoClock own_clock(const KinetoTrace& trace) {
  KinetoClock clock;
  clock.shifts_ns = {0};
  clock.base_ns = trace.facts.base_ns   ? trace.facts.base_ns
                  : is_unix_time(trace) ? std::optional<int64_t>{0}
                                        : std::nullopt;
  clock.description = clock.base_ns ? "the file's own: Unix time, less import.base_time_ns" : "the file's own";
  return clock;
}

}  // namespace kvet::importing
