// Samples one GPU on a thread of its own: decodes what the hardware has gathered, again and again, and sends it on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "abi/counters.h"
#include "probes/counters/burst_schedule.h"
#include "probes/counters/load_tap.h"
#include "probes/counters/message_writer.h"
#include "probes/counters/pm_session.h"
#include "probes/counters/sample_guard.h"

namespace kvet::probes {

[[nodiscard]] int64_t monotonic_ns();

class DeviceSampler {
 public:
  // `index`: of the GPU in the messages. The thread starts at once.
  DeviceSampler(MessageWriter& writer, uint32_t index, std::unique_ptr<PmSession> session, uint64_t interval_ns,
                const BurstPlan& bursts);
  DeviceSampler(const DeviceSampler&) = delete;
  DeviceSampler& operator=(const DeviceSampler&) = delete;
  ~DeviceSampler();

  // Waits until the first samples came, or it is clear that none will. Empty: they came; else why not.
  [[nodiscard]] std::string wait_flowing();
  // Stops the hardware, then decodes what it holds until nothing is left or the deadline is over.
  void request_stop(int64_t deadline_ns);
  [[nodiscard]] bool done() const { return done_; }
  // When the thread last came back from CUPTI; the process ends a sampler whose library hangs.
  [[nodiscard]] int64_t last_progress_ns() const { return last_progress_ns_; }
  [[nodiscard]] uint32_t index() const { return index_; }

  // For whoever needs to look at the samples here; while it collects there are no bursts.
  [[nodiscard]] LoadTap& tap() { return tap_; }
  // Pauses sampling, by plan, and goes on: for what would keep CUPTI waiting so long that samples were lost (opening a
  // context). Returns when it is done, or after two seconds.
  void hold(bool on);
  // CLOCK_MONOTONIC − raw as far as it is known from the start of sampling; there once samples flow.
  [[nodiscard]] int64_t coarse_offset_ns() const { return clock_offset_ns_; }
  [[nodiscard]] int64_t coarse_error_ns() const { return clock_error_ns_; }  // by how much it may be off

  // What it took and what it left out; call when done().
  struct Account {
    uint64_t bursts = 0, paused_ns = 0;
    uint64_t decode_processor_ns = 0, evaluate_processor_ns = 0;
  };
  [[nodiscard]] Account account() const;

 private:
  void run();
  bool begin();  // starts, finds the clock's bounds, sends them and the first samples
  bool go_on(bool& more, int turn_ms);  // one round; false: sampling could not go on
  bool decode_once(bool& more);
  void take(const PmSample& sample);
  void send(const kvet_sampler_sample& sample);
  void send_loss(kvet_sampler_loss_kind kind, uint64_t count, uint64_t first_ns, uint64_t last_ns);
  void send_status(kvet_sampler_state state, const std::string& text);
  bool restart_after_overflow();
  // After sampling could not go on (another client may have taken the counters meanwhile): tries again for a while. False:
  // it will not come back, or a stop was requested.
  bool recover();
  // Samples at a finer interval for a moment. False: sampling could not go on afterwards.
  bool burst();
  // Samples for a moment, then stops to decode: where decoding is slower than the hardware. False as for burst().
  bool turn();
  bool change_interval(uint64_t interval_ns);
  bool decode_rest();  // false: the hardware's buffer had run over, or decoding failed
  void report_lag();
  bool wait_while_held();  // false: sampling could not go on
  bool too_many_full_images();
  bool settle();  // decodes again until the image could be emptied; false: sampling ended
  void wait_for_stop();
  void drain();
  bool sleep_ms(int milliseconds);  // false: a stop was requested
  void flowing(std::string why_not);

  MessageWriter& writer_;
  const uint32_t index_;
  const uint64_t interval_ns_;
  std::unique_ptr<PmSession> session_;
  SampleGuard guard_;
  BurstSchedule schedule_;
  uint64_t bursts_ = 0;
  bool in_turns_ = false;
  int full_images_ = 0;
  int64_t first_full_ns_ = 0;
  LoadTap tap_;

  bool clock_sent_ = false;
  std::vector<kvet_sampler_sample> held_;  // until the clock's bounds are known
  uint64_t first_trigger_ns_ = 0;  // raw time at which the first, dropped sample ended
  std::atomic<int64_t> clock_offset_ns_ = 0;  // coarse: CLOCK_MONOTONIC − raw
  std::atomic<int64_t> clock_error_ns_ = 0;
  uint64_t newest_ns_ = 0;  // raw end of the newest sample
  int64_t worst_lag_ns_ = 0;
  uint32_t overflows_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, flow_known_ = false;
  bool hold_wanted_ = false, holding_ = false;
  std::string why_not_;
  int64_t deadline_ns_ = 0;
  std::atomic<bool> done_ = false;
  std::atomic<int64_t> last_progress_ns_ = 0;
  std::thread thread_;
};

}  // namespace kvet::probes
