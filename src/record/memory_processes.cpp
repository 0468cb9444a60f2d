#include "record/memory_processes.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>

#include "record/mappings.h"
#include "record/process_facts.h"

namespace kvet::record {

namespace {

// A pidfd of the process if it has the memory file mapped. The handle comes first: what /proc says afterwards is about it.
FileDescriptor handle_of_user(int32_t pid, int file) {
  FileDescriptor handle(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  struct stat status{};
  if (!handle.valid() || fstat(file, &status) != 0) {
    return {};
  }
  const std::string inode = " " + std::to_string(status.st_ino) + " ";
  const std::string maps = read_proc_file(pid, "maps");
  for (size_t at = maps.find("/memfd:kvet-memory"); at != std::string::npos;
       at = maps.find("/memfd:kvet-memory", at + 1)) {
    const size_t begin = maps.rfind('\n', at) + 1;  // npos + 1 is 0
    if (maps.substr(begin, at - begin).contains(inode)) {
      return handle;
    }
  }
  return {};
}

}  // namespace

std::optional<MemoryProcesses::Sender> MemoryProcesses::sender(const kvet_batch_header& header, int64_t now_ns,
                                                               int64_t recording_since_ns) {
  if (const auto found = known_.find(header.table_address); found != known_.end()) {
    return Sender{found->second.process, {}, {}};
  }
  auto table = ring_.table(header);
  if (!table) {
    return std::nullopt;
  }
  const auto claimed = table->header();
  if (!claimed) {
    return std::nullopt;
  }
  Known known{.process = {}, .pid = static_cast<int32_t>(claimed->target_pid & 0x7fffffffu), .handle = {}};
  known.handle = handle_of_user(known.pid, ring_.descriptor());
  const bool believed = known.handle.valid();
  const std::string name = believed ? process_name(known.pid) : "";
  const std::string command = believed ? command_line(known.pid) : "";
  const auto earlier = std::ranges::find_if(
      known_, [&](const auto& one) { return believed && one.second.pid == known.pid && one.second.handle.valid(); });
  Sender sender{{}, std::move(*table), {}};
  if (earlier != known_.end()) {
    sender.before_exec = earlier->second.process;
    earlier->second.handle.reset();
    known.process = processes_.exec(known.pid, now_ns, name, command, true);
  } else {
    // When it began nobody has told, only that it was not before the recording. A second one that claims the same id lives in
    // another pid namespace, or came after the first had ended.
    const bool taken = std::ranges::any_of(known_, [&](const auto& one) { return one.second.pid == known.pid; });
    known.process = processes_.begin({.pid = known.pid,
                                      .namespace_pid = known.pid,
                                      .name = name,
                                      .command_line = command,
                                      .start_ns = taken ? now_ns : recording_since_ns});
  }
  sender.process = known.process;
  known_.emplace(header.table_address, std::move(known));
  return sender;
}

std::vector<ProcessId> MemoryProcesses::ended() const {
  std::vector<ProcessId> list;
  for (const auto& [offset, known] : known_) {
    pollfd file{known.handle.get(), POLLIN, 0};
    if (known.handle.valid() && poll(&file, 1, 0) == 1) {
      list.push_back(known.process);
    }
  }
  return list;
}

}  // namespace kvet::record
