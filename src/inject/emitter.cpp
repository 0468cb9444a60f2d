#include "inject/emitter.h"

#include <string.h>

#include "inject/clock.h"

// A reader that attaches to the probe raises this; until then a hit would be a no-op that nobody sees.
#define _SDT_HAS_SEMAPHORES 1  // NOLINT(bugprone-reserved-identifier): sys/sdt.h looks for it
#include <sys/sdt.h>
extern "C" {
__attribute__((visibility("hidden"), section(".probes"))) volatile unsigned short kvet_batch_semaphore = 0;
}

namespace kvet::inject {
namespace {

// Not inlined: one probe site, with its two arguments in registers.
__attribute__((noinline)) void hit_probe(const kvet_batch_header* header, uint64_t capacity) {
  STAP_PROBE2(kvet, batch, header, capacity);
}

}  // namespace

bool Emitter::has_reader() const { return ring_ != nullptr || kvet_batch_semaphore != 0; }

kvet_record& Emitter::next() {
  if (batch_.header.count == KVET_BATCH_LARGE) {
    hand_over(false);
  }
  kvet_record& record = batch_.records[batch_.header.count++];
  memset(&record, 0, sizeof(record));  // kvet_record{} would clear its first member only
  return record;
}

void Emitter::append_losses() {
  if (!has_reader()) {
    return;
  }
  kvet_record loss;
  for (int kind = 1; kind < Losses::kinds; ++kind) {
    if (losses_.take(static_cast<kvet_loss_kind>(kind), loss)) {
      next() = loss;
    }
  }
}

void Emitter::flush(bool last) {
  if (batch_.header.count > 0 || last) {
    hand_over(last);
  }
}

// Every record of the batch is lost, except that losses in it go back to be sent later.
void Emitter::count_as_lost(kvet_loss_kind kind) {
  uint64_t records = 0;
  for (uint32_t i = 0; i < batch_.header.count; ++i) {
    const kvet_record& record = batch_.records[i];
    if (record.kind == KVET_RECORD_LOSS) {
      losses_.count(static_cast<kvet_loss_kind>(record.loss.loss), record.loss.count, record.loss.first_ns,
                    record.loss.last_ns);
    } else {
      ++records;
    }
  }
  if (records > 0) {
    losses_.count(kind, records, monotonic_ns());
  }
}

void Emitter::hand_over(bool last) {
  kvet_batch_header& header = batch_.header;
  if (!has_reader()) {
    count_as_lost(KVET_LOSS_NO_READER);
    header.count = 0;
    return;
  }
  header.abi_version = KVET_ABI_VERSION;
  header.sequence = sequence_;
  header.records_before = records_before_;
  header.target_pid = table_.header()->target_pid;
  header.capacity = header.count <= KVET_BATCH_SMALL    ? KVET_BATCH_SMALL
                    : header.count <= KVET_BATCH_MEDIUM ? KVET_BATCH_MEDIUM
                                                        : KVET_BATCH_LARGE;
  header.table_address = table_.address();
  header.table_used = table_.used();
  header.table_generation = table_.header()->generation;
  header.last = last ? 1 : 0;
  if (ring_ != nullptr) {
    if (!ring_->write(header, batch_.records)) {
      count_as_lost(KVET_LOSS_BATCH_SLOT);
      header.count = 0;
      return;  // no sequence number was used: the reader counts this once, from the loss record
    }
  } else {
    // What lies behind the records of a batch that is not full goes over too: no leftovers of earlier batches.
    memset(batch_.records + header.count, 0, (header.capacity - header.count) * sizeof(kvet_record));
    hit_probe(&header, header.capacity);
  }
  ++sequence_;
  records_before_ += header.count;
  header.count = 0;
  __atomic_store_n(&table_.header()->records_sent, records_before_, __ATOMIC_RELAXED);
  __atomic_store_n(&table_.header()->batches_sent, sequence_, __ATOMIC_RELEASE);
}

}  // namespace kvet::inject
