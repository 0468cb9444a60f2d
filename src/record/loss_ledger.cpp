#include "record/loss_ledger.h"

namespace kvet::record {

void LossLedger::report(Source source, LossKind kind, uint64_t total, int64_t now_ns) {
  Reported& reported = reported_[{source, kind}];
  if (total > reported.total) {
    Loss loss{.source = source,
              .kind = kind,
              .process = {},
              .count = total - reported.total,
              .first_ns = {},
              .last_ns = now_ns};
    if (reported.at_ns != 0) {
      loss.first_ns = reported.at_ns;
    }
    sink_.on(loss);
    reported.total = total;
  }
  reported.at_ns = now_ns;
}

void LossLedger::report(Source source, const probes::BpfCounters& counters, int64_t now_ns) {
  report(source, LossKind::ring_full, counters[KVET_COUNTER_RESERVE_FAILED], now_ns);
  report(source, LossKind::map_full, counters[KVET_COUNTER_MAP_FULL], now_ns);
  report(source, LossKind::unmatched, counters[KVET_COUNTER_LAUNCH_UNMATCHED], now_ns);
}

}  // namespace kvet::record
