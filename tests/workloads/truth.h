// What a workload planted, written by the workload itself: nothing of kvet is involved. Rows are kept in memory and written
// when the process ends, as DIRECTORY/PID.tsv: the kind of row, then its columns as named here.
#pragma once

#include <cstdint>
#include <string>

#include "cuda/observer.h"

namespace workloads::truth {

// "" : nothing is kept.
void begin(const std::string& directory);
// Asks the device model for every execution of this process: rows `execution` (see truth.cpp for the columns). Before cuInit.
// The functions are those of cuda/observer.h, which a program may have linked or loaded.
void observe_device(decltype(&simcuda_observe) observe, decltype(&simcuda_collect) collect);
// Waits for nothing: call it after the last synchronisation.
void end();

// process: pid, rank
void process(int rank);
// launch: thread, order within the thread, start, end, entry point, kernel (or "graph"), grid, stream ordinal, executions
void launch(int64_t start_ns, int64_t end_ns, const char* entry_point, const char* kernel, uint32_t grid, int stream,
            uint32_t executions);
// captured: thread, start, end: a launch under stream capture, which executes nothing
void captured(int64_t start_ns, int64_t end_ns);
// sleep: thread, start, end, requested
void sleep(int64_t start_ns, int64_t end_ns, int64_t requested_ns);
// collective: thread, order within the thread, start, end, elements, rank, step
void collective(int64_t start_ns, int64_t end_ns, uint64_t elements, int rank, int step);
// range: thread, name, start, end: an NVTX range, pushed and popped between the readings of the clock
void range(const char* name, int64_t start_ns, int64_t end_ns);
// late: step, rank, sleep end: the rank that was made late in that step
void late(int step, int rank, int64_t sleep_end_ns);

}  // namespace workloads::truth
