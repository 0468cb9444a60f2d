#include "probes/process/process_directory.h"

namespace kvet::probes {

Process* ProcessDirectory::alive(int32_t pid) {
  const auto found = by_pid_.find(pid);
  if (found == by_pid_.end()) {
    return nullptr;
  }
  Process& last = processes_[found->second.back().value];
  return last.end_ns ? nullptr : &last;
}

ProcessId ProcessDirectory::begin(const Seen& seen) {
  if (Process* known = alive(seen.pid); known != nullptr && known->start_ns >= seen.start_ns) {
    // An event of it came first: now its birth is known.
    known->start_ns = seen.start_ns;
    known->parent_pid = seen.parent_pid != 0 ? seen.parent_pid : known->parent_pid;
    known->namespace_pid = seen.namespace_pid != 0 ? seen.namespace_pid : known->namespace_pid;
    known->name = known->name.value == 0 ? sink_.intern(seen.name) : known->name;
    known->command_line = known->command_line.value == 0 ? sink_.intern(seen.command_line) : known->command_line;
    sink_.on(*known);
    return known->id;
  }
  if (Process* before = alive(seen.pid); before != nullptr) {
    // Its exit was not seen: the pid could not be given away again otherwise.
    before->end_ns = seen.start_ns;
    sink_.on(*before);
  }
  Process process;
  process.id = ProcessId{static_cast<uint32_t>(processes_.size())};
  process.pid = seen.pid;
  process.parent_pid = seen.parent_pid;
  process.namespace_pid = seen.namespace_pid;
  process.name = sink_.intern(seen.name);
  process.command_line = sink_.intern(seen.command_line);
  if (seen.command_line.empty()) {
    // A forked child is its parent's copy until it execs.
    if (const Process* parent = alive(seen.parent_pid); parent != nullptr) {
      process.command_line = parent->command_line;
    }
  }
  process.start_ns = seen.start_ns;
  processes_.push_back(process);
  by_pid_[seen.pid].push_back(process.id);
  sink_.on(process);
  return process.id;
}

ProcessId ProcessDirectory::exec(int32_t pid, int64_t time_ns, std::string_view name, std::string_view command_line,
                                 bool anew) {
  Process* process = alive(pid);
  if (process == nullptr || anew) {
    Seen seen{.pid = pid, .name = name, .command_line = command_line, .start_ns = time_ns};
    if (process != nullptr) {
      seen.parent_pid = process->parent_pid;
      seen.namespace_pid = process->namespace_pid;
    }
    return begin(seen);
  }
  process->name = sink_.intern(name);
  process->command_line = sink_.intern(command_line);
  sink_.on(*process);
  return process->id;
}

void ProcessDirectory::end(int32_t pid, int64_t time_ns, int32_t exit_code) {
  if (Process* process = alive(pid); process != nullptr) {
    process->end_ns = time_ns;
    process->exit_code = exit_code;
    sink_.on(*process);
  }
}

void ProcessDirectory::set_inject_status(ProcessId id, uint32_t status) {
  Process& process = processes_[id.value];
  if (process.inject_status != status) {
    process.inject_status = status;
    sink_.on(process);
  }
}

void ProcessDirectory::set_namespace_pid(ProcessId id, int32_t namespace_pid) {
  Process& process = processes_[id.value];
  if (process.namespace_pid != namespace_pid) {
    process.namespace_pid = namespace_pid;
    sink_.on(process);
  }
}

ProcessId ProcessDirectory::at(int32_t pid, int64_t time_ns) {
  const auto found = by_pid_.find(pid);
  if (found != by_pid_.end()) {
    const auto& ids = found->second;
    for (size_t index = ids.size(); index-- > 0;) {
      if (processes_[ids[index].value].start_ns <= time_ns || index == 0) {
        return ids[index];
      }
    }
  }
  return begin({.pid = pid, .start_ns = time_ns});
}

}  // namespace kvet::probes
