#include "record/record.h"

#include "record/recording.h"

namespace kvet::record {

Result<RecordOutcome> record(const RecordOptions& options) {
  Recording recording(options);
  // Each pass in order; the first that fails ends it, and leaves nothing behind.
  for (Result<void> (Recording::*pass)() : {&Recording::find_target, &Recording::choose_tier, &Recording::open_file,
                                            &Recording::start_counters, &Recording::start_target}) {
    if (auto done = (recording.*pass)(); !done) {
      recording.remove_file();
      return std::unexpected(done.error());
    }
  }
  recording.run();
  recording.drain();
  return recording.finish_file();
}

}  // namespace kvet::record
