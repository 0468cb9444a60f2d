// kvet record: the command line's wishes in the recorder's words.
#include "record/record.h"

#include "base/terminal.h"
#include "base/version.h"
#include "cli/commands.h"

namespace kvet::cli {

namespace {

record::TierChoice tier_choice(TierChoice choice) {
  switch (choice) {
    case TierChoice::automatic: return record::TierChoice::automatic;
    case TierChoice::host: return record::TierChoice::host;
    case TierChoice::unprivileged: return record::TierChoice::unprivileged;
    case TierChoice::device: return record::TierChoice::device;
    case TierChoice::full: return record::TierChoice::full;
  }
  return record::TierChoice::automatic;
}

record::Counters counters(CountersChoice choice) {
  switch (choice) {
    case CountersChoice::pm: return record::Counters::pm;
    case CountersChoice::gpm: return record::Counters::gpm;
    case CountersChoice::off: return record::Counters::off;
  }
  return record::Counters::off;
}

}  // namespace

int run_record(const RecordOptions& options) {
  const auto outcome = record::record({.output = options.output,
                                       .pid = options.pid,
                                       .command = options.command,
                                       .duration_ns = options.duration_ns,
                                       .delay_ns = options.delay_ns,
                                       .counters = counters(options.counters),
                                       .interval_ns = options.interval_ns,
                                       .burst_ns = options.burst_ns,
                                       .burst_every_ns = options.burst_every_ns,
                                       .pulses = options.pulses,
                                       .detail = options.detail,
                                       .tier = tier_choice(options.tier),
                                       .discard = options.discard,
                                       .meta = options.meta,
                                       .kvet_version = version(),
                                       .sampler_program = "/proc/self/exe"});
  if (!outcome) {
    return report_error(outcome.error());
  }
  print_note(outcome->summary);
  return outcome->exit_code;
}

}  // namespace kvet::cli
