// A program that sends batches as an injected library does, with the library's own emitter and table, and nothing else of
// it: the other half of the round trip through the kernel that src/probes/activity/probe_test.cpp makes.
//   batch_sender BATCHES   waits for a reader, sends, then waits for the end of its standard input
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "inject/emitter.h"
#include "inject/losses.h"
#include "inject/table.h"

#define _SDT_HAS_SEMAPHORES 1  // NOLINT(bugprone-reserved-identifier): sys/sdt.h looks for it
#include <sys/sdt.h>
extern "C" volatile unsigned short kvet_batch_semaphore;

namespace {

// A batch at an address where there is none.
__attribute__((noinline)) void send_unreadable() {
  void* nothing = mmap(nullptr, 65'536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  STAP_PROBE2(kvet, batch, nothing, 64ul);
}

}  // namespace

int main(int count, char** arguments) {
  const int batches = count > 1 ? atoi(arguments[1]) : 1;
  kvet::inject::TableWriter table;
  int error = 0;
  if (!table.create(&error)) {
    fprintf(stderr, "batch_sender: no table: %s\n", strerror(error));
    return 1;
  }
  kvet::inject::Losses losses;
  static kvet::inject::Emitter emitter(table, losses);
  for (int waited = 0; !emitter.has_reader() && waited < 10'000; ++waited) {
    const timespec millisecond{0, 1'000'000};
    nanosleep(&millisecond, nullptr);
  }
  uint32_t correlation = 0;
  for (int batch = 0; batch < batches; ++batch) {
    const int records = 1 + batch * 37 % 256;  // 37 and 256 have no common divisor: every size comes up
    char name[32];
    const int length = snprintf(name, sizeof(name), "batch %d", batch);
    const uint32_t string = table.string(name, static_cast<size_t>(length));
    for (int i = 0; i < records; ++i) {
      kvet_record_range& range = emitter.next().range;
      range.kind = KVET_RECORD_RANGE;
      range.name = string;
      range.start_ns = ++correlation;
      range.end_ns = correlation + 1000;
      range.thread_id = static_cast<uint32_t>(getpid());
    }
    emitter.flush(batch + 1 == batches);
  }
  send_unreadable();
  printf("%d %u\n", getpid(), correlation);
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
