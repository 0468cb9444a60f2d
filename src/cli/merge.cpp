// kvet merge: captures of several hosts become one.
#include "merge/merge.h"

#include <fmt/core.h>

#include "base/terminal.h"
#include "base/unfinished_names.h"
#include "cli/capture_output.h"
#include "cli/commands.h"
#include "cli/output_check.h"
#include "cli/read_any.h"
#include "store/file_header.h"

namespace kvet::cli {
namespace {

std::string sentence(const Capture& capture, const merge::Placed& placed) {
  const auto& clock = placed.clock;
  switch (placed.by) {
    case merge::LinkedBy::itself: return fmt::format("{}: the clock of all", capture.path);
    case merge::LinkedBy::boot: return fmt::format("{}: the same clock, by the boot id", capture.path);
    case merge::LinkedBy::collectives:
      return fmt::format(
          "{}: {:+.6f} s, drifting {:+.3f} µs/s, by {} collectives; {:.1f} µs are left (median), {:.1f} µs (95th "
          "percentile)",
          capture.path, static_cast<double>(clock.offset_ns) / 1e9, clock.drift * 1e6, clock.collectives,
          static_cast<double>(clock.residual_ns.value_or(0)) / 1e3,
          static_cast<double>(clock.residual_p95_ns.value_or(0)) / 1e3);
    case merge::LinkedBy::wall_clock:
      return fmt::format("{}: {:+.6f} s, by the hosts' time of day alone: good to milliseconds, unverified",
                         capture.path, static_cast<double>(clock.offset_ns) / 1e9);
  }
  return {};
}

}  // namespace

int run_merge(const MergeOptions& options) {
  remove_unfinished_on_signals();
  if (auto apart = check_apart(options.output, options.files); !apart) {
    return report_error(apart.error());
  }
  if (auto room = store::check_room(options.output); !room) {  // before the long work
    return report_error(room.error());
  }
  std::vector<Capture> captures;
  for (const std::string& path : options.files) {
    auto capture = read_any(path);
    if (!capture) {
      return report_error(capture.error());
    }
    captures.push_back(std::move(*capture));
  }
  const auto placed = merge::place(captures, options.wall_clock);
  if (!placed) {
    return report_error(placed.error());
  }
  const auto done = write_capture(options.output, [&](EventSink& sink) -> Result<void> {
    merge::merge_into(captures, *placed, sink);
    return {};
  });
  if (!done) {
    return report_error(done.error());
  }
  for (size_t n = 0; n < captures.size(); ++n) {
    fmt::print("{}\n", sentence(captures[n], (*placed)[n]));
  }
  return 0;
}

}  // namespace kvet::cli
