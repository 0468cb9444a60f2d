#include "probes/counters/device_sampler.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>

namespace kvet::probes {
namespace {

// A call of CUPTI's decoding takes 0.5 ms and more of a processor however little it finds (an H200, fifteen metrics), so
// several hundred samples are left to gather; the image holds three times as many.
constexpr int longest_decode_period_ms = 50;
constexpr uint64_t samples_between_decodings = 500;
// For finding the clock's bounds the time between a sample's end and its decoding should be short.
constexpr int first_decode_period_ms = 3;
constexpr int64_t first_phase_ns = 120'000'000;
// Decoding takes 40 to 60 µs per sample on an H200 with fifteen metrics. Finer than this, it cannot keep up, and CUPTI
// throws away what does not fit into the image: so samples are taken in turns with decoding.
constexpr uint64_t finest_continuous_ns = 40'000;
constexpr uint64_t samples_per_turn = 1'000;
constexpr int64_t flow_limit_ns = 3'000'000'000;
// Beyond this the sampler says that it cannot keep up. The hardware buffer still holds the difference for a while.
constexpr int64_t lag_limit_ns = 1'000'000'000;

uint64_t as_unsigned(int64_t value) { return static_cast<uint64_t>(std::max<int64_t>(0, value)); }

}  // namespace

int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

DeviceSampler::DeviceSampler(MessageWriter& writer, uint32_t index, std::unique_ptr<PmSession> session,
                             uint64_t interval_ns, const BurstPlan& bursts)
    : writer_(writer),
      index_(index),
      interval_ns_(interval_ns),
      session_(std::move(session)),
      guard_(interval_ns),
      schedule_(bursts, static_cast<uint64_t>(monotonic_ns()) + index),
      last_progress_ns_(monotonic_ns()),
      thread_([this] { run(); }) {}

DeviceSampler::~DeviceSampler() {
  request_stop(monotonic_ns());
  thread_.join();
}

std::string DeviceSampler::wait_flowing() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return flow_known_; });
  return why_not_;
}

void DeviceSampler::request_stop(int64_t deadline_ns) {
  const std::lock_guard lock(mutex_);
  if (!stopping_) {
    stopping_ = true;
    deadline_ns_ = deadline_ns;
    changed_.notify_all();
  }
}

void DeviceSampler::flowing(std::string why_not) {
  const std::lock_guard lock(mutex_);
  flow_known_ = true;
  why_not_ = std::move(why_not);
  changed_.notify_all();
}

bool DeviceSampler::sleep_ms(int milliseconds) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [this] { return stopping_; });
}

void DeviceSampler::run() {
  if (begin()) {
    bool more = false;
    const auto decode_period_ms = static_cast<int>(
        std::clamp<uint64_t>(interval_ns_ * samples_between_decodings / 1'000'000, 1, longest_decode_period_ms));
    const auto turn_ms = static_cast<int>(std::max<uint64_t>(1, interval_ns_ * samples_per_turn / 1'000'000));
    in_turns_ = interval_ns_ < finest_continuous_ns;
    schedule_.begin(monotonic_ns());
    while (in_turns_ ? sleep_ms(turn_ms) : sleep_ms(more ? 0 : decode_period_ms)) {
      if (!go_on(more, turn_ms) && !recover()) {
        break;
      }
    }
    wait_for_stop();
    drain();
  }
  session_->close();
  done_ = true;
}

bool DeviceSampler::go_on(bool& more, int turn_ms) {
  if (!wait_while_held()) {
    return false;
  }
  if (in_turns_) {
    return turn();
  }
  if (!decode_once(more)) {
    return false;
  }
  report_lag();
  if (session_->unsettled() && !settle()) {
    return false;
  }
  if (more && too_many_full_images()) {
    in_turns_ = true;
    send_status(KVET_SAMPLER_STATE_DEGRADED,
                fmt::format("samples every {} ns come faster than this machine decodes them: from then on they come "
                            "in turns of {} ms with pauses. Take a longer --interval",
                            interval_ns_, turn_ms));
  }
  return tap_.collecting() || !schedule_.due(monotonic_ns()) || burst();
}

void DeviceSampler::wait_for_stop() {
  // After a failure: what is not sampled from then on is counted when the recording ends.
  last_progress_ns_ = INT64_MAX;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_; });
}

bool DeviceSampler::begin() {
  const int64_t before_ns = monotonic_ns();
  auto started = session_->start();
  const int64_t after_ns = monotonic_ns();
  if (!started) {
    flowing(started.error().message());
    return false;
  }
  // Two bounds on the clock. The first trigger came after the call that started sampling and at most an interval or two
  // after its return. And no sample ends after it was decoded.
  int64_t latest_offset_ns = INT64_MAX;
  bool more = false;
  const int64_t phase_ns = std::min(first_phase_ns, static_cast<int64_t>(interval_ns_ * samples_per_turn / 2));
  while (monotonic_ns() < after_ns + phase_ns || held_.empty()) {
    if (monotonic_ns() > after_ns + flow_limit_ns) {
      flowing("the GPU accepted the counters, but no sample came within 3 s. Another client may have taken them away");
      return false;
    }
    if (!sleep_ms(first_decode_period_ms) && !held_.empty()) {
      break;
    }
    const size_t samples_before = held_.size();
    if (!decode_once(more)) {
      return false;
    }
    if (held_.size() > samples_before) {
      latest_offset_ns = std::min(latest_offset_ns, monotonic_ns() - static_cast<int64_t>(newest_ns_));
    }
  }
  const auto trigger = static_cast<int64_t>(first_trigger_ns_);
  const int64_t earliest = before_ns;
  const int64_t latest =
      std::max(earliest, std::min(after_ns + 2 * static_cast<int64_t>(interval_ns_), trigger + latest_offset_ns));
  clock_offset_ns_ = earliest + (latest - earliest) / 2 - trigger;
  clock_error_ns_ = (latest - earliest + 1) / 2;
  kvet_sampler_clock clock{};
  clock.device = index_;
  clock.raw_ns = first_trigger_ns_;
  clock.earliest_ns = as_unsigned(earliest);
  clock.latest_ns = as_unsigned(latest);
  writer_.send(KVET_SAMPLER_CLOCK, clock);
  clock_sent_ = true;

  std::string metrics;
  for (const Metric& metric : session_->metrics()) {
    metrics += (metrics.empty() ? "" : ",") + std::string(metric.name);
  }
  send_status(KVET_SAMPLER_STATE_SAMPLING, metrics);
  if (!session_->time_trigger()) {
    send_status(
        KVET_SAMPLER_STATE_DEGRADED,
        fmt::format("chip {} samples every so many clock cycles, not every {} ns: the interval varies with the clock",
                    session_->chip(), interval_ns_));
  } else if (
      // What only adds detail may be missing without a word: the list of metrics in the capture shows it.
      const std::string missing = missing_fields(session_->metrics(), MetricGroup::fingerprint); !missing.empty()) {
    send_status(KVET_SAMPLER_STATE_DEGRADED,
                fmt::format("chip {} does not give these in one pass with the rest: {}", session_->chip(), missing));
  }
  for (const kvet_sampler_sample& sample : held_) {
    writer_.send_sample(sample);
  }
  held_ = {};
  flowing("");
  return true;
}

bool DeviceSampler::decode_once(bool& more) {
  auto decoded = session_->decode([this](const PmSample& sample) { take(sample); });
  last_progress_ns_ = monotonic_ns();
  if (!decoded) {
    if (!clock_sent_) {
      flowing(decoded.error().message());
    } else {
      send_status(KVET_SAMPLER_STATE_DEGRADED, "sampling ended early: " + decoded.error().message());
    }
    return false;
  }
  writer_.flush();
  more = decoded->more;
  return !decoded->overflow || restart_after_overflow();
}

void DeviceSampler::take(const PmSample& sample) {
  if (first_trigger_ns_ == 0) {
    first_trigger_ns_ = sample.end_ns;
  }
  const SampleGuard::Answer answer = guard_.next(sample.start_ns, sample.end_ns);
  if (answer.loss) {
    send_loss(answer.loss->kind, answer.loss->count, answer.loss->first_ns, answer.loss->last_ns);
  }
  if (!answer.keep) {
    return;
  }
  newest_ns_ = sample.end_ns;
  kvet_sampler_sample message{};
  message.device = index_;
  message.start_ns = sample.start_ns;
  message.end_ns = sample.end_ns;
  const std::vector<Metric>& metrics = session_->metrics();
  for (size_t index = 0; index < metrics.size(); ++index) {
    if (std::isfinite(sample.values[index])) {
      message.values[metrics[index].field] = sample.values[index];
      message.known |= 1u << metrics[index].field;
    }
  }
  tap_.take(message);
  send(message);
}

void DeviceSampler::send(const kvet_sampler_sample& sample) {
  if (clock_sent_) {
    writer_.send_sample(sample);
  } else {
    held_.push_back(sample);
  }
}

void DeviceSampler::send_loss(kvet_sampler_loss_kind kind, uint64_t count, uint64_t first_ns, uint64_t last_ns) {
  kvet_sampler_loss loss{};
  loss.device = index_;
  loss.loss = kind;
  loss.count = count;
  loss.first_ns = first_ns;
  loss.last_ns = last_ns;
  writer_.send(KVET_SAMPLER_LOSS, loss);
}

void DeviceSampler::send_status(kvet_sampler_state state, const std::string& text) {
  kvet_sampler_status status{};
  status.device = index_;
  status.state = state;
  std::strncpy(status.text, text.c_str(), sizeof(status.text) - 1);
  writer_.send(KVET_SAMPLER_STATUS, status);
}

bool DeviceSampler::restart_after_overflow() {
  // With a full buffer the hardware has stopped. What it holds is decoded first, then sampling starts anew; the guard
  // sees the hole between the two and counts it as lost to the overflow.
  if (++overflows_ == 1) {
    send_status(KVET_SAMPLER_STATE_DEGRADED,
                fmt::format("samples every {} ns come faster than this machine decodes them: the hardware's buffer ran "
                            "over, and stretches are missing. Take a longer --interval",
                            interval_ns_));
  }
  auto stopped = session_->stop();
  (void)decode_rest();
  guard_.restarted(SampleGuard::Restart::overflow, interval_ns_);
  if (auto started = session_->start(); !started) {
    send_status(KVET_SAMPLER_STATE_DEGRADED, "sampling stopped after an overflow: " + started.error().message());
    return false;
  }
  return true;
}

bool DeviceSampler::recover() {
  constexpr int tries = 30;
  constexpr int pause_ms = 2'000;
  for (int i = 0; i < tries && sleep_ms(pause_ms); ++i) {
    guard_.restarted(SampleGuard::Restart::failure, interval_ns_);
    session_->set_interval(interval_ns_);
    if (session_->start()) {
      last_progress_ns_ = monotonic_ns();
      return true;
    }
  }
  return false;
}

bool DeviceSampler::decode_rest() {
  bool complete = true;
  for (bool more = true; more;) {
    auto decoded = session_->decode([this](const PmSample& sample) { take(sample); });
    last_progress_ns_ = monotonic_ns();
    complete = complete && decoded && !decoded->overflow;
    more = decoded && (decoded->more || decoded->samples > 0);
  }
  return complete;
}

// CUPTI does not start anew while samples wait to be decoded (error 999 on an H200), so all are decoded between.
bool DeviceSampler::change_interval(uint64_t interval_ns) {
  auto stopped = session_->stop();
  guard_.restarted(decode_rest() ? SampleGuard::Restart::planned : SampleGuard::Restart::overflow, interval_ns);
  session_->set_interval(interval_ns);
  if (auto started = session_->start(); !started) {
    send_status(KVET_SAMPLER_STATE_DEGRADED, "sampling stopped at a planned pause: " + started.error().message());
    return false;
  }
  return true;
}

bool DeviceSampler::burst() {
  const BurstPlan& plan = schedule_.plan();
  ++bursts_;
  bool going_on = change_interval(plan.interval_ns);
  if (going_on) {
    // What the burst brings is decoded afterwards: at 10 µs decoding is slower than the hardware.
    if (!sleep_ms(static_cast<int>(std::max<uint64_t>(1, plan.length_ns / 1'000'000)))) {
      return true;  // the recording ends in it: draining does the rest
    }
    going_on = change_interval(interval_ns_);
  }
  schedule_.begin(monotonic_ns());
  return going_on;
}

// The newest sample waits for the last unit's counts for a part of an interval, so another moment will do. Where none does
// before the image is full, a planned pause costs less than what a full image loses.
bool DeviceSampler::settle() {
  constexpr int tries = 8;
  bool more = false;
  for (int i = 0; i < tries && session_->unsettled(); ++i) {
    ::usleep(static_cast<useconds_t>(interval_ns_ / 1000 * static_cast<uint64_t>(2 + i % 3) / 4 + 20));
    if (!decode_once(more)) {
      return false;
    }
  }
  return !session_->nearly_full() || change_interval(interval_ns_);
}

void DeviceSampler::hold(bool on) {
  std::unique_lock lock(mutex_);
  hold_wanted_ = on;
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::seconds(2), [&] { return holding_ == on || stopping_ || done_; });
}

bool DeviceSampler::wait_while_held() {
  {
    const std::lock_guard lock(mutex_);
    if (!hold_wanted_) {
      return true;
    }
  }
  auto stopped = session_->stop();
  const bool complete = decode_rest();
  writer_.flush();
  {
    std::unique_lock lock(mutex_);
    holding_ = true;
    last_progress_ns_ = INT64_MAX;  // it hangs in nothing
    changed_.notify_all();
    changed_.wait(lock, [this] { return !hold_wanted_ || stopping_; });
  }
  if (!complete) {
    guard_.restarted(SampleGuard::Restart::overflow, interval_ns_);
  }
  const bool going_on = change_interval(interval_ns_);
  const std::lock_guard lock(mutex_);
  holding_ = false;
  changed_.notify_all();
  return going_on;
}

// One may be a hiccup; several in two seconds are a machine that is too slow.
bool DeviceSampler::too_many_full_images() {
  const int64_t now_ns = monotonic_ns();
  if (now_ns > first_full_ns_ + 2'000'000'000) {
    first_full_ns_ = now_ns;
    full_images_ = 0;
  }
  return ++full_images_ >= 4;
}

bool DeviceSampler::turn() {
  const bool going_on = change_interval(interval_ns_);
  writer_.flush();
  return going_on;
}

DeviceSampler::Account DeviceSampler::account() const {
  return {bursts_, guard_.paused_ns(), session_->decode_processor_ns(), session_->evaluate_processor_ns()};
}

void DeviceSampler::report_lag() {
  if (guard_.restarted()) {
    return;  // nothing came since
  }
  const int64_t lag_ns = monotonic_ns() - (static_cast<int64_t>(newest_ns_) + clock_offset_ns_);
  if (lag_ns > lag_limit_ns && lag_ns > 2 * worst_lag_ns_) {
    worst_lag_ns_ = lag_ns;
    send_status(KVET_SAMPLER_STATE_DEGRADED,
                fmt::format("decoding is {:.1f} s behind the GPU: samples every {} ns are too many for this machine. "
                            "Nothing is lost yet; take a longer --interval",
                            static_cast<double>(lag_ns) / 1e9, interval_ns_));
  }
}

void DeviceSampler::drain() {
  auto stopped = session_->stop();
  const auto stop_raw_ns = as_unsigned(monotonic_ns() - clock_offset_ns_);
  for (;;) {
    auto decoded = session_->decode([this](const PmSample& sample) { take(sample); });
    last_progress_ns_ = monotonic_ns();
    writer_.flush();
    if (!decoded || decoded->samples == 0) {
      break;
    }
    const std::lock_guard lock(mutex_);
    if (stopping_ && monotonic_ns() > deadline_ns_) {
      break;
    }
  }
  // A few samples are always cut off by the stop itself. Longer than that: still in the buffer, or never sampled.
  const uint64_t end_ns = guard_.last_end_ns();
  if (stop_raw_ns > end_ns + 50'000'000 && !guard_.pausing()) {
    send_loss(KVET_SAMPLER_LOSS_UNDRAINED, (stop_raw_ns - end_ns) / interval_ns_, end_ns, stop_raw_ns);
  }
}

}  // namespace kvet::probes
