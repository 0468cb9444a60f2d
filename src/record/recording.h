// One recording, from the request to the finished file. record.cpp calls the passes in order.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "clocks/aligning_sink.h"
#include "probes/activity/decode.h"
#include "probes/activity/memory_ring.h"
#include "probes/counters/sampler_client.h"
#include "probes/device_directory.h"
#include "probes/process/process_directory.h"
#include "record/injection.h"
#include "record/kernel_sources.h"
#include "record/loss_ledger.h"
#include "record/memory_processes.h"
#include "record/private_library.h"
#include "record/record.h"
#include "record/signals.h"
#include "record/target.h"
#include "record/thread_translator.h"
#include "record/tier.h"
#include "record/window_sink.h"
#include "store/writer.h"

namespace kvet::record {

class Recording {
 public:
  explicit Recording(const RecordOptions& options);
  ~Recording();

  // The passes.
  Result<void> find_target();     // the command, or the running process
  Result<void> choose_tier();     // what this machine and this target allow; loads what it needs
  Result<void> open_file();
  Result<void> start_counters();  // before the target, so that nothing of it is missed
  Result<void> start_target();    // or join the running one
  void run();                     // until it ends, or is stopped
  void drain();                   // what is still on its way
  Result<RecordOutcome> finish_file();
  void remove_file();             // when a pass failed

 private:
  // run(), step by step
  void wait();
  void take_news();
  void on_news(ProcessNews& news);
  void on_news(AttachedNews& news);
  void on_news(TableNews& news);
  void on_news(FailedNews& news);
  void on_news(NoActivityNews& news);
  void poll_sources();
  void poll_memory_ring(bool at_end);
  void finish_exited();
  void handle_signals();
  void every_second(int64_t now_ns);
  void check_stop(int64_t now_ns);
  void stop_by(const char* why);
  void note_survivors(int64_t now_ns);
  void show_progress(int64_t now_ns);

  // start and end
  void fact(const std::string& key, const std::string& value) { sink_.on(Meta{key, value}); }
  void open_window();
  void start_facts();
  void end_facts();
  void report_losses();
  [[nodiscard]] std::string inject_status();
  [[nodiscard]] bool tells_queue_waits() const;
  [[nodiscard]] std::string summary() const;

  const RecordOptions& options_;
  std::optional<InvokingUser> user_;
  Environment environment_;
  std::string program_;
  std::optional<PrivateLibrary> library_;
  Plan plan_;

  std::unique_ptr<store::CaptureWriter> writer_;
  bool file_made_ = false;
  std::optional<clocks::AligningSink> aligning_;  // between the window and the file
  WindowSink sink_;
  probes::ProcessDirectory processes_{sink_};
  probes::DeviceDirectory devices_;
  ThreadTranslator threads_;
  LossLedger losses_{sink_};
  std::unique_ptr<probes::ActivityDecoder> activity_;
  std::unique_ptr<KernelSources> kernel_;
  std::optional<probes::MemoryRing> memory_;
  std::optional<MemoryProcesses> memory_processes_;
  std::unique_ptr<probes::SamplerClient> sampler_;
  std::optional<Signals> signals_;
  std::optional<Target> target_;
  FileDescriptor joined_;  // pidfd of --pid

  std::set<int32_t> alive_;            // processes of the target, where eBPF follows them
  std::set<int32_t> missing_;          // of these, gone at the last look
  std::set<ProcessId> with_table_;     // and those whose injected library showed itself
  struct Exited {
    ProcessId process;
    int64_t time_ns;
  };
  std::vector<Exited> exited_;         // to be finished once the rings were read
  uint64_t forged_batches_ = 0;        // of the memory file: they name no table
  std::set<std::string> complained_;   // each failure is said once
  size_t without_activity_ = 0;        // processes whose injected library cannot record
  bool cuda_seen_ = false;
  int64_t window_from_ns_ = 0, window_to_ns_ = 0;
  int64_t second_ns_ = 0, progress_ns_ = 0, root_ended_ns_ = 0;
  bool survivors_noted_ = false, store_complained_ = false;
  int interrupts_ = 0;
  const char* stopped_by_ = nullptr;
};

}  // namespace kvet::record
