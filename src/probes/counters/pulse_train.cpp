#include "probes/counters/pulse_train.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <thread>

#include "gpu_work/context.h"
#include "gpu_work/driver.h"
#include "gpu_work/kernels.h"
#include "probes/counters/device_sampler.h"

namespace kvet::probes {
namespace {

using gpu_work::PulseRecord;
using std::chrono::nanoseconds;

constexpr uint32_t threads_per_pulse_block = 32;
// Before and after the pulses each. A round takes some 3 µs, nearly all of it on the way to the GPU and back.
constexpr uint32_t handshake_rounds = 24;
constexpr uint64_t handshake_limit_ns = 2'000'000;  // then the kernel gives up: the host was not there
constexpr int handshake_tries = 5;
constexpr size_t few_handshakes = 8;
constexpr uint32_t most_pulses = 32, fewest_pulses = 8;

// Sampling goes on at the end of this, whatever happens.
class Quiet {
 public:
  explicit Quiet(const std::function<bool(bool)>& hold) : hold_(hold) { hold_(true); }
  ~Quiet() { hold_(false); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  const std::function<bool(bool)>& hold_;
};

class Train {
 public:
  Train(gpu_work::Context context, uint64_t interval_ns, std::chrono::steady_clock::time_point end)
      : context_(std::move(context)),
        plan_(plan_pulses(interval_ns)),
        interval_ns_(static_cast<int64_t>(interval_ns)),
        end_(end),
        random_(static_cast<uint64_t>(monotonic_ns())) {}

  Result<void> prepare();  // what may take long
  Result<clocks::PulseTrain> run();

 private:
  Result<void> shake_hands(const gpu_work::Function& kernel, const gpu_work::Stream& stream);
  Result<void> shake_hands_once(const gpu_work::Function& kernel, const gpu_work::Stream& stream);
  Result<void> pulse(const gpu_work::Function& kernel, const gpu_work::Stream& stream,
                     const gpu_work::MappedBuffer& records, uint32_t number);
  void keep(std::span<const PulseRecord> records);
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, std::max(low, high))(random_);
  }
  [[nodiscard]] nanoseconds left() const {
    return std::max<nanoseconds>(nanoseconds(0), end_ - std::chrono::steady_clock::now());
  }

  gpu_work::Context context_;
  struct Tools {
    gpu_work::Kernels kernels;
    gpu_work::Function pulse, handshake;
    gpu_work::MappedBuffer records;
    gpu_work::Stream stream;
  };
  std::optional<Tools> tools_;  // closed before the context
  PulsePlan plan_;
  int64_t interval_ns_;
  std::chrono::steady_clock::time_point end_;
  std::mt19937_64 random_;
  clocks::PulseTrain train_;
};

// A busy machine may take the CPU away from us in between; some are enough.
Result<void> Train::shake_hands(const gpu_work::Function& kernel, const gpu_work::Stream& stream) {
  const size_t enough = train_.handshakes.size() + few_handshakes;
  for (int tries = 0; tries < handshake_tries && train_.handshakes.size() < enough; ++tries) {
    if (auto done = shake_hands_once(kernel, stream); !done) {
      return done;
    }
  }
  return {};
}

Result<void> Train::shake_hands_once(const gpu_work::Function& kernel, const gpu_work::Stream& stream) {
  auto memory = context_.allocate_mapped(sizeof(gpu_work::HandshakePage) + handshake_rounds * sizeof(uint64_t));
  if (!memory) {
    return std::unexpected(memory.error());
  }
  auto& page = memory->as<gpu_work::HandshakePage>().front();
  const std::span<uint64_t> times =
      memory->as<uint64_t>().subspan(sizeof(gpu_work::HandshakePage) / sizeof(uint64_t), handshake_rounds);
  if (auto launched = context_.launch(stream, kernel, {.blocks = 1, .threads = 1}, memory->device_address(),
                                      handshake_rounds, uint32_t{0}, handshake_limit_ns);
      !launched) {
    return launched;
  }
  std::atomic_ref<uint64_t> asked(page.asked), answered(page.answered);
  const int64_t give_up_ns = monotonic_ns() + std::min<int64_t>(left().count(), 100'000'000);
  for (uint64_t round = 1; round <= handshake_rounds; ++round) {
    clocks::Handshake one;
    one.before_ns = monotonic_ns();
    asked.store(round, std::memory_order_release);
    uint64_t seen = 0;
    while ((seen = answered.load(std::memory_order_acquire)) < round && monotonic_ns() < give_up_ns) {
    }
    one.after_ns = monotonic_ns();
    if (seen != round) {
      asked.store(gpu_work::handshake_over, std::memory_order_release);
      break;
    }
    one.timer_ns = static_cast<int64_t>(times[round - 1]);
    if (train_.timer_origin_ns == 0) {
      train_.timer_origin_ns = one.timer_ns;
    }
    train_.handshakes.push_back(one);
  }
  return context_.wait(stream, left());
}

Result<void> Train::pulse(const gpu_work::Function& kernel, const gpu_work::Stream& stream,
                          const gpu_work::MappedBuffer& records, uint32_t number) {
  const uint32_t blocks = context_.device().multiprocessors;
  const uint64_t address = records.device_address() + uint64_t{number} * blocks * sizeof(PulseRecord);
  const auto duration_ns = static_cast<uint64_t>(between(plan_.shortest_ns, plan_.longest_ns));
  if (auto launched =
          context_.launch(stream, kernel, {.blocks = blocks, .threads = threads_per_pulse_block}, address, duration_ns);
      !launched) {
    return launched;
  }
  if (auto done = context_.wait(stream, left()); !done) {
    return done;
  }
  // An idle sample must lie between two pulses.
  std::this_thread::sleep_for(nanoseconds(between(2 * interval_ns_, 4 * interval_ns_)));
  return {};
}

// One block per SM on an idle GPU; where two share one, it is busy from the first entry to the last exit.
void Train::keep(std::span<const PulseRecord> records) {
  struct Stay {
    uint64_t entry_ns = UINT64_MAX, exit_ns = 0;
  };
  std::map<uint32_t, Stay> stays;
  for (const PulseRecord& record : records) {
    if (record.entry_ns == 0 || record.exit_ns < record.entry_ns) {
      return;  // it did not run to its end
    }
    Stay& stay = stays[record.sm];
    stay.entry_ns = std::min(stay.entry_ns, record.entry_ns);
    stay.exit_ns = std::max(stay.exit_ns, record.exit_ns);
  }
  clocks::Pulse pulse;
  for (const auto& [sm, stay] : stays) {
    pulse.entry_ns += static_cast<double>(static_cast<int64_t>(stay.entry_ns) - train_.timer_origin_ns);
    pulse.exit_ns += static_cast<double>(static_cast<int64_t>(stay.exit_ns) - train_.timer_origin_ns);
  }
  const auto count = static_cast<double>(stays.size());
  pulse.entry_ns /= count;
  pulse.exit_ns /= count;
  pulse.level = std::min(1.0, count / context_.device().multiprocessors);
  train_.pulses.push_back(pulse);
}

Result<void> Train::prepare() {
  const uint32_t blocks = context_.device().multiprocessors;
  if (blocks == 0) {
    return fail(ErrorKind::unavailable, "the driver does not say how many multiprocessors the GPU has");
  }
  auto kernels = context_.load(gpu_work::kernel_text());
  if (!kernels) {
    return std::unexpected(kernels.error());
  }
  auto pulse_kernel = kernels->function("kvet_pulse");
  auto handshake = kernels->function("kvet_handshake");
  auto records = context_.allocate_mapped(size_t{plan_.count} * blocks * sizeof(PulseRecord));
  auto stream = context_.create_stream();
  for (const Error* error : {pulse_kernel ? nullptr : &pulse_kernel.error(), handshake ? nullptr : &handshake.error(),
                             records ? nullptr : &records.error(), stream ? nullptr : &stream.error()}) {
    if (error != nullptr) {
      return std::unexpected(*error);
    }
  }
  tools_.emplace(Tools{std::move(*kernels), std::move(*pulse_kernel), std::move(*handshake), std::move(*records),
                       std::move(*stream)});
  return {};
}

Result<clocks::PulseTrain> Train::run() {
  const uint32_t blocks = context_.device().multiprocessors;
  auto& [kernels, pulse_kernel, handshake, records, stream] = *tools_;
  if (auto done = shake_hands(handshake, stream); !done) {
    return std::unexpected(done.error());
  }
  std::this_thread::sleep_for(nanoseconds(3 * interval_ns_));
  for (uint32_t number = 0; number < plan_.count && left().count() > 0; ++number) {
    if (auto done = pulse(pulse_kernel, stream, records, number); !done) {
      return std::unexpected(done.error());
    }
    keep(records.as<PulseRecord>().subspan(size_t{number} * blocks, blocks));
  }
  if (auto done = shake_hands(handshake, stream); !done) {
    return std::unexpected(done.error());
  }
  return std::move(train_);
}

}  // namespace

PulsePlan plan_pulses(uint64_t interval_ns) {
  const auto interval = static_cast<int64_t>(std::min<uint64_t>(interval_ns, 1'000'000'000));
  PulsePlan plan;
  const int64_t typical_ns = std::clamp<int64_t>(interval * 3 / 4, 5'000, pulse_budget_ns / fewest_pulses);
  plan.count = static_cast<uint32_t>(std::clamp<int64_t>(pulse_budget_ns / typical_ns, fewest_pulses, most_pulses));
  plan.shortest_ns = typical_ns * 2 / 3;
  plan.longest_ns = typical_ns * 4 / 3;
  return plan;
}

Result<clocks::PulseTrain> run_pulse_train(int ordinal, uint64_t interval_ns, nanoseconds limit,
                                           const std::function<bool(bool)>& hold_sampling) {
  const auto end = std::chrono::steady_clock::now() + limit;
  auto driver = gpu_work::load_driver();
  if (!driver) {
    return std::unexpected(driver.error());
  }
  const Quiet opening(hold_sampling);
  auto context = gpu_work::Context::open(*driver, gpu_work::DeviceChoice::ordinal(ordinal));
  if (!context) {
    return std::unexpected(context.error());
  }
  Train train(std::move(*context), interval_ns, end);
  if (auto prepared = train.prepare(); !prepared) {
    return std::unexpected(prepared.error());
  }
  if (!hold_sampling(false) || std::chrono::steady_clock::now() > end) {
    return fail(ErrorKind::unavailable, "opening a context took too long");
  }
  auto result = train.run();
  hold_sampling(true);  // the context is closed before sampling goes on
  return result;
}

}  // namespace kvet::probes
