#include "cupti/mutant.h"

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "abi/vendor/cupti_driver_callbacks.h"

namespace simcuda::cupti {
namespace {

constexpr uint64_t every = 1000;
constexpr int64_t clock_fault_ns = 100'000;

enum class Mutant {
  none,
  drop_every_1000th,         // an execution is not delivered, and nobody says so
  counted_drop_every_1000th,  // the same, counted as dropped: must be reported as a loss
  duplicate_every_1000th,    // an execution is delivered twice
  clock_100us_off,           // executions are stamped 100 µs late
  swap_streams,              // executions of the first two streams carry each other's stream
  shift_correlation,         // every 1000th execution belongs to a call that was never made
  shift_grid,                // every 1000th execution shows another grid
  drop_call_every_1000th,    // a launch record is not delivered
  blank_every_100th_sample,  // counters read zero in one sample of a hundred
};

constexpr std::pair<std::string_view, Mutant> names[] = {
    {"drop_every_1000th", Mutant::drop_every_1000th},
    {"counted_drop_every_1000th", Mutant::counted_drop_every_1000th},
    {"duplicate_every_1000th", Mutant::duplicate_every_1000th},
    {"clock_100us_off", Mutant::clock_100us_off},
    {"swap_streams", Mutant::swap_streams},
    {"shift_correlation", Mutant::shift_correlation},
    {"shift_grid", Mutant::shift_grid},
    {"drop_call_every_1000th", Mutant::drop_call_every_1000th},
    {"blank_every_100th_sample", Mutant::blank_every_100th_sample},
};

Mutant chosen() {
  static const Mutant mutant = [] {
    const char* text = std::getenv("KVET_SIMCUDA_MUTANT");
    for (const auto& [name, value] : names) {
      if (text != nullptr && name == text) {
        return value;
      }
    }
    return Mutant::none;
  }();
  return mutant;
}

std::atomic<uint64_t> executions{0}, calls{0}, counted{0};

}  // namespace

uint32_t mutate(simcuda_execution& execution) {
  bool is_chosen = executions.fetch_add(1, std::memory_order_relaxed) % every == every - 1;
  constexpr uint32_t first_stream = 13, second_stream = 14;
  switch (chosen()) {
    case Mutant::none:
    case Mutant::drop_call_every_1000th:
    case Mutant::blank_every_100th_sample: return 1;
    case Mutant::drop_every_1000th: return is_chosen ? 0 : 1;
    case Mutant::counted_drop_every_1000th: counted += is_chosen ? 1 : 0; return is_chosen ? 0 : 1;
    case Mutant::duplicate_every_1000th: return is_chosen ? 2 : 1;
    case Mutant::clock_100us_off:
      execution.start_ns += clock_fault_ns;
      execution.end_ns += clock_fault_ns;
      return 1;
    case Mutant::swap_streams:
      if (execution.stream_id == first_stream || execution.stream_id == second_stream) {
        execution.stream_id = first_stream + second_stream - execution.stream_id;
      }
      return 1;
    case Mutant::shift_correlation: execution.correlation_id += is_chosen ? 1u << 30 : 0; return 1;
    case Mutant::shift_grid: execution.grid[0] += is_chosen ? 1 : 0; return 1;
  }
  return 1;
}

bool mutant_drops_call(const simcuda_call& call) {
  if (chosen() != Mutant::drop_call_every_1000th || call.callback_id != KVET_CUPTI_DRIVER_cuLaunchKernel) {
    return false;
  }
  return calls.fetch_add(1, std::memory_order_relaxed) % every == every - 1;
}

bool mutant_blanks_sample(uint64_t number) {
  return chosen() == Mutant::blank_every_100th_sample && number % 100 == 99;
}

uint64_t mutant_counted_drops() { return counted.exchange(0); }

}  // namespace simcuda::cupti
