// Which probes sit on which libraries in which processes: attaches when a process maps a library of interest, once per
// process and library, and lets go when the process has ended. Used by one thread (see watcher.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "probes/activity/probe.h"
#include "probes/activity/table.h"
#include "probes/kernel/probed_function.h"
#include "record/library.h"
#include "record/link_closer.h"
#include "record/mappings.h"
#include "record/uprobe_link.h"

namespace kvet::record {

// What happened, for the thread that writes the capture.
struct AttachEvents {
  std::function<void(int pid, const Library&)> attached;
  std::function<void(int pid, probes::Table)> table;
  std::function<void(const Library&, const Error&)> failed;
  std::function<void(int pid, kvet_inject_status)> no_activity;  // the injected library cannot record there
};

class Attacher {
 public:
  struct Programs {
    const probes::UprobeProgram* cuda = nullptr;  // nullptr: not wanted, or did not load
    const probes::UprobeProgram* nccl = nullptr;
    probes::ActivityProbe* activity = nullptr;
    std::string activity_file;  // the injected library to which it is attached already, for all processes
    // For a process whose injected library cannot record: the returns of libcuda's launches, and the wish for its events.
    const probes::UprobeProgram* cuda_returns = nullptr;
    std::function<void(int pid)> send_launches_of;
  };
  Attacher(const Programs& programs, AttachEvents events);

  // A library that targets will probably load: attached to a process before it maps it, so that not even its first call
  // is missed. The kernel places the breakpoints when it is mapped. Every library that any target maps joins these.
  void expect(const std::string& path);
  void attach_expected(int pid);

  void on_mapping(int pid, const Mapping& mapping);
  void scan(int pid);  // everything that it has mapped now
  void on_fork(int parent, int child, bool shares_memory);
  void on_exec(int pid, int calling_thread);
  void on_exit(int pid);
  [[nodiscard]] bool uses_cuda(int pid) const;
  // Whether it was seen to before that time. A look at a process that has exec'd since shows what the new program maps,
  // though the news of the exec is still on the way.
  [[nodiscard]] bool used_cuda_before(int pid, int64_t time_ns) const;
  [[nodiscard]] std::vector<int> processes() const;

  // Processes whose injected library was seen, and of which it is not known yet whether it records.
  [[nodiscard]] bool has_waiting_tables() const { return !waiting_.empty() || !undecided_.empty(); }
  // Looks at them again. True while there are some that are young enough for it to be soon.
  bool retry_tables();

 private:
  struct Process {
    std::vector<std::shared_ptr<const Library>> libraries;  // attached to, mapped or only expected to be
    std::vector<const Library*> mapped;
    int64_t mapped_since_ns = 0;  // CLOCK_MONOTONIC, when the first of them was seen; 0: none was
    UprobeLinks links;
  };
  struct WaitingTable {
    int pid = 0;
    std::shared_ptr<const Library> library;
    int64_t since_ns = 0, next_ns = 0;
  };

  void attach(int pid, const std::shared_ptr<const Library>& library);
  void maps(int pid, const std::shared_ptr<const Library>& library);
  void expect(const std::shared_ptr<const Library>& library);
  struct UndecidedTable {
    int pid = 0;
    probes::Table table;
    int64_t since_ns = 0, next_ns = 0;
  };
  bool open_table(const WaitingTable& waiting);
  bool decide(const UndecidedTable& undecided);
  void record_launches_instead(int pid);
  void forget_tables(int pid);
  void let_go(Process& process);

  Programs programs_;
  AttachEvents events_;
  LibraryIndex index_;
  std::shared_ptr<const Library> activity_library_;
  std::vector<std::shared_ptr<const Library>> expected_;
  std::unordered_map<int, Process> processes_;
  std::vector<WaitingTable> waiting_;
  std::vector<UndecidedTable> undecided_;
  LinkCloser closer_;
};

}  // namespace kvet::record
