#include "probes/counters/pulse_anchor.h"

#include <fmt/core.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "clocks/pulse_fit.h"
#include "probes/counters/pulse_train.h"

namespace kvet::probes {
namespace {

// The sampler's own bracket was ±0.39 ms wide on an H200; its width is added.
constexpr int64_t least_search_ns = 1'000'000;
// Samples on either side of the train in which it is looked for.
constexpr int64_t least_margin_ns = 4'000'000;
// With longer samples the train would take seconds, and few of its edges could be placed.
constexpr uint64_t longest_interval_ns = 2'000'000;
// The recorder keeps samples up to 10 ms beside the window (record/window_sink.cpp).
constexpr int64_t quiet_ns = 25'000'000;

// Shared with the thread, which may outlive the wait for it.
struct Running {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Result<clocks::PulseTrain>> train;
  bool abandoned = false;
};

Result<clocks::PulseTrain> run_with_limit(DeviceSampler& sampler, const AnchorPlan& plan) {
  auto running = std::make_shared<Running>();
  // The sampler is never destroyed before the process ends.
  std::thread([running, plan, &sampler] {
    auto train = run_pulse_train(plan.ordinal, plan.interval_ns, plan.limit, [&](bool on) {
      {
        const std::lock_guard lock(running->mutex);
        if (running->abandoned) {
          return false;
        }
      }
      sampler.hold(on);
      return true;
    });
    const std::lock_guard lock(running->mutex);
    running->train.emplace(std::move(train));
    running->changed.notify_all();
  }).detach();
  std::unique_lock lock(running->mutex);
  if (!running->changed.wait_for(lock, plan.limit, [&] { return running->train.has_value(); })) {
    running->abandoned = true;
    lock.unlock();
    sampler.hold(false);
    return fail(ErrorKind::unavailable, fmt::format("the driver did not come back within {} ms", plan.limit.count()));
  }
  return std::move(*running->train);
}

Result<clocks::ClockAnchor> measure(DeviceSampler& sampler, const AnchorPlan& plan) {
  if (plan.interval_ns > longest_interval_ns) {
    return fail(ErrorKind::unavailable, fmt::format("samples of more than {} ms are too long to place pulses in",
                                                    longest_interval_ns / 1'000'000));
  }
  const int64_t deadline_ns = monotonic_ns() + std::chrono::nanoseconds(plan.limit).count();
  if (plan.moment == KVET_SAMPLER_AFTER) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(quiet_ns));
  }
  LoadTap& tap = sampler.tap();
  tap.begin(plan.multiprocessors);
  auto train = run_with_limit(sampler, plan);
  const int64_t ended_ns = monotonic_ns(), coarse_ns = sampler.coarse_offset_ns();
  const int64_t search_ns = least_search_ns + sampler.coarse_error_ns(), margin_ns = least_margin_ns + search_ns;
  // Until the samples of its end were decoded, and until it cannot lie in the recording any more.
  while (monotonic_ns() < deadline_ns && !sampler.done() &&
         (monotonic_ns() < ended_ns + quiet_ns || tap.newest_ns() + coarse_ns < ended_ns + margin_ns)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::vector<clocks::MeasuredLoad> loads = tap.end();
  if (!train) {
    return std::unexpected(train.error());
  }
  if (!train->handshakes.empty()) {
    const int64_t from_ns = train->handshakes.front().before_ns - coarse_ns - margin_ns;
    std::erase_if(loads, [&](const clocks::MeasuredLoad& load) {
      return load.end_ns < from_ns || load.start_ns > ended_ns - coarse_ns + margin_ns;
    });
  }
  return clocks::fit_pulses(loads, *train, coarse_ns, search_ns);
}

}  // namespace

kvet_sampler_anchor measure_anchor(DeviceSampler& sampler, const AnchorPlan& plan) {
  kvet_sampler_anchor message{};
  message.device = sampler.index();
  message.moment = plan.moment;
  if (const auto anchor = measure(sampler, plan)) {
    message.known = 1;
    message.raw_ns = static_cast<uint64_t>(anchor->raw_ns);
    message.monotonic_ns = static_cast<uint64_t>(anchor->raw_ns + anchor->offset_ns);
    message.residual_ns = static_cast<uint64_t>(anchor->residual_ns);
    message.residual_p95_ns = static_cast<uint64_t>(anchor->residual_p95_ns);
    message.pulses = anchor->pulses;
    message.bracket_ns = anchor->bracket_ns;
    message.unlogged_ns = anchor->unlogged_ns;
    message.scatter_ns = anchor->scatter_ns;
  } else {
    std::strncpy(message.text, anchor.error().message().c_str(), sizeof(message.text) - 1);
  }
  return message;
}

}  // namespace kvet::probes
