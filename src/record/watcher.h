// The thread that follows the target: it hears of forks, execs, exits and new mappings and attaches at once, whatever the
// thread that decodes and writes is waiting for. What it learned goes to that thread through a queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "abi/bpf_events.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "probes/process/probe.h"
#include "record/attacher.h"
#include "record/mapping_watch.h"

namespace kvet::record {

// A process was born, runs another program, or has ended.
struct ProcessNews {
  enum class Change : uint8_t { begin, exec, end };
  Change change = Change::begin;
  int32_t pid = 0;
  int32_t parent_pid = 0;
  int32_t namespace_pid = 0;  // 0: unknown
  int64_t time_ns = 0;
  int32_t exit_code = 0;
  bool used_cuda = false;  // exec: the program before it had
  std::string name, command_line;  // command_line "": as its parent's
};
struct AttachedNews {
  int32_t pid = 0;
  LibraryKind kind = LibraryKind::other;
  std::string path;
};
struct TableNews {
  int32_t pid = 0;
  int64_t time_ns = 0;
  probes::Table table;
};
struct FailedNews {
  LibraryKind kind = LibraryKind::other;
  Error error;
};
struct NoActivityNews {  // the injected library cannot record in this process
  int32_t pid = 0;
  kvet_inject_status status = KVET_INJECT_STARTING;
};
using News = std::variant<ProcessNews, AttachedNews, TableNews, FailedNews, NoActivityNews>;

class Watcher {
 public:
  // Loads and attaches the process program. `targets` must outlive the watcher.
  static Result<std::unique_ptr<Watcher>> create(const probes::TargetMap& targets);
  ~Watcher();

  // Before start(): what to attach. The programs must outlive the watcher.
  void set_programs(const Attacher::Programs& programs) { programs_ = programs; }
  // Follows these processes from now on (they are in the map of targets already), attaching to what they have mapped.
  // `expected`: files of libraries that they will probably load.
  Result<void> start(const std::vector<int>& processes, const std::vector<std::string>& expected);
  // No more attaching; everything that is attached stays until the destructor lets go.
  void stop();

  // What was learned since the last call, in order.
  [[nodiscard]] std::vector<News> take_news();
  // The longest time from a fork to the probes in a child that had libcuda from its parent: what it launched in that time
  // is missing where launches come from probes. 0: there was no such child.
  [[nodiscard]] int64_t longest_attach_delay_ns() const { return longest_attach_delay_ns_; }
  [[nodiscard]] probes::BpfCounters counters() const { return probe_->counters(); }

 private:
  explicit Watcher(const probes::TargetMap& targets) : targets_(targets) {}
  void run();
  void poll_mappings();
  void on_event(std::span<const std::byte> event);
  void on_fork(const kvet_event_process& event);
  void on_exec(const kvet_event_process& event);
  void on_exit(const kvet_event_process& event);
  void introduce(int pid);
  void tell(News news);

  const probes::TargetMap& targets_;
  std::unique_ptr<probes::ProcessProbe> probe_;
  std::unique_ptr<MappingWatch> mappings_;
  Attacher::Programs programs_;
  std::unique_ptr<Attacher> attacher_;
  FileDescriptor wake_;  // eventfd, to stop
  FileDescriptor epoll_;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> longest_attach_delay_ns_{0};
  std::thread thread_;

  std::mutex mutex_;
  std::vector<News> news_;
};

}  // namespace kvet::record
