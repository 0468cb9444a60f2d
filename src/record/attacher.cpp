#include "record/attacher.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace kvet::record {

namespace {

// An injected library makes its table within microseconds of being mapped, and then waits up to 200 ms for the probe. A
// library that is mapped and never started is looked at rarely.
constexpr int64_t soon_ns = 500'000'000;
constexpr int64_t rarely_ns = 200'000'000;

int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

std::span<const probes::ProbedFunction> functions_of(const probes::UprobeProgram* program) {
  return program == nullptr ? std::span<const probes::ProbedFunction>{} : program->functions;
}

}  // namespace

Attacher::Attacher(const Programs& programs, AttachEvents events)
    : programs_(programs),
      events_(std::move(events)),
      index_(functions_of(programs.cuda), functions_of(programs.nccl)) {
  if (programs_.activity != nullptr) {
    FileDescriptor file(open(programs_.activity_file.c_str(), O_PATH | O_CLOEXEC));
    activity_library_ = index_.identify(std::move(file), programs_.activity_file);
  }
}

void Attacher::on_mapping(int pid, const Mapping& mapping) {
  FileDescriptor file = open_mapping(pid, mapping);
  if (file.valid()) {
    const auto library = index_.identify(std::move(file), mapping.path);
    if (library->kind != LibraryKind::other) {
      maps(pid, library);
    }
  }
}

void Attacher::expect(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (file.valid()) {
    expect(index_.identify(std::move(file), path));
  }
}

void Attacher::expect(const std::shared_ptr<const Library>& library) {
  const bool probed = library->kind == LibraryKind::cuda || library->kind == LibraryKind::nccl;
  if (probed && std::ranges::find(expected_, library) == expected_.end()) {
    expected_.push_back(library);
  }
}

void Attacher::attach_expected(int pid) {
  for (const auto& library : expected_) {
    attach(pid, library);
  }
}

void Attacher::maps(int pid, const std::shared_ptr<const Library>& library) {
  if (library->kind == LibraryKind::inject) {
    if (programs_.activity != nullptr) {
      waiting_.push_back({pid, library, now_ns(), 0});
    }
    return;
  }
  expect(library);
  attach(pid, library);
  std::vector<const Library*>& mapped = processes_[pid].mapped;
  if (std::ranges::find(mapped, library.get()) == mapped.end()) {
    if (mapped.empty()) {
      processes_[pid].mapped_since_ns = now_ns();
    }
    mapped.push_back(library.get());
    events_.attached(pid, *library);
  }
}

void Attacher::scan(int pid) {
  for (const Mapping& mapping : executable_mappings_of(pid)) {
    on_mapping(pid, mapping);
  }
}

void Attacher::attach(int pid, const std::shared_ptr<const Library>& library) {
  Process& process = processes_[pid];
  const bool known = std::ranges::any_of(
      process.libraries, [&](const std::shared_ptr<const Library>& other) { return other->same_file(*library); });
  if (known || library->kind == LibraryKind::inject) {
    return;
  }
  process.libraries.push_back(library);
  const probes::UprobeProgram* program = library->kind == LibraryKind::cuda ? programs_.cuda : programs_.nccl;
  if (program == nullptr || library->functions.empty()) {
    return;
  }
  closer_.hold_off();
  Attachment attachment = attach_uprobes(*program, *library, pid);
  if (attachment.gone) {
    return;
  }
  if (attachment.failure) {
    events_.failed(*library, *attachment.failure);
  }
  std::ranges::move(attachment.links, std::back_inserter(process.links));
}

bool Attacher::open_table(const WaitingTable& waiting) {
  auto table = probes::Table::open(waiting.pid);
  if (!table) {
    return false;
  }
  Process& process = processes_[waiting.pid];
  const bool attached =
      waiting.library->same_file(*activity_library_) ||
      std::ranges::any_of(process.libraries, [&](const std::shared_ptr<const Library>& other) {
        return other->same_file(*waiting.library);  // exec: the kernel carries the probe over to the new mapping
      });
  process.libraries.push_back(waiting.library);
  if (process.mapped.empty()) {
    process.mapped_since_ns = now_ns();
  }
  process.mapped.push_back(waiting.library.get());
  if (!attached) {
    // Another copy of the library: a container that brings its own. For this process alone.
    if (auto attachment = programs_.activity->attach(waiting.library->reachable_path(), waiting.pid); !attachment) {
      events_.failed(*waiting.library, attachment.error());
      return true;
    }
  }
  undecided_.push_back({waiting.pid, table->duplicate(), now_ns(), 0});
  // Signed last: the library goes on when it sees it, and then nothing may be missing.
  [[maybe_unused]] const bool signed_it = table->sign(getpid());
  events_.table(waiting.pid, std::move(*table));
  events_.attached(waiting.pid, *waiting.library);
  return true;
}

// True: the library records, or it is known that it does not.
bool Attacher::decide(const UndecidedTable& undecided) {
  const auto header = undecided.table.header();
  if (!header) {
    return true;  // not a table any more: the target wrote over it
  }
  const auto status = static_cast<kvet_inject_status>(header->status);
  if (status == KVET_INJECT_RECORDING || status == KVET_INJECT_NO_PROBE) {
    return true;
  }
  if (header->finished == 0 && status != KVET_INJECT_READER_GONE) {
    return false;
  }
  record_launches_instead(undecided.pid);
  [[maybe_unused]] const bool signed_it = undecided.table.sign(getpid(), true);
  events_.no_activity(undecided.pid, status);
  return true;
}

void Attacher::record_launches_instead(int pid) {
  if (programs_.cuda_returns == nullptr) {
    return;
  }
  Process& process = processes_[pid];
  for (const auto& library : process.libraries) {
    if (library->kind == LibraryKind::cuda) {
      Attachment attachment = attach_uprobes(*programs_.cuda_returns, *library, pid);
      if (attachment.failure && !attachment.gone) {
        events_.failed(*library, *attachment.failure);
      }
      std::ranges::move(attachment.links, std::back_inserter(process.links));
    }
  }
  programs_.send_launches_of(pid);
}

namespace {

// Runs `done` on those whose turn it is and forgets those for which it holds. True while there are young ones left.
template <class Waiting, class Done>
bool look_again(std::vector<Waiting>& all, Done done) {
  const int64_t now = now_ns();
  bool soon = false;
  std::erase_if(all, [&](Waiting& waiting) {
    if (waiting.next_ns <= now) {
      if (done(waiting)) {
        return true;
      }
      waiting.next_ns = now - waiting.since_ns > soon_ns ? now + rarely_ns : 0;
    }
    soon |= now - waiting.since_ns <= soon_ns;
    return false;
  });
  return soon;
}

}  // namespace

bool Attacher::retry_tables() {
  const bool opening = look_again(waiting_, [this](const WaitingTable& waiting) { return open_table(waiting); });
  const bool deciding = look_again(undecided_, [this](const UndecidedTable& undecided) { return decide(undecided); });
  return opening || deciding;
}

void Attacher::on_fork(int parent, int child, bool shares_memory) {
  const auto found = processes_.find(parent);
  // A child in its parent's memory (vfork) will exec or exit: nothing to attach to.
  if (found == processes_.end() || shares_memory) {
    processes_.try_emplace(child);
    return;
  }
  // What the parent has mapped, the child has: no need to look, and no time, since it may launch at once. The injected
  // library is left out: it is dead in a forked child, and CUDA with it, if it was alive in the parent.
  const Process parents = {.libraries = found->second.libraries,
                           .mapped = found->second.mapped,
                           .mapped_since_ns = found->second.mapped_since_ns,
                           .links = {}};
  processes_.try_emplace(child);
  for (const auto& library : parents.libraries) {
    attach(child, library);
  }
  processes_[child].mapped = parents.mapped;
  processes_[child].mapped_since_ns = parents.mapped_since_ns;
  std::erase_if(processes_[child].mapped, [](const Library* library) { return library->kind == LibraryKind::inject; });
}

void Attacher::on_exec(int pid, int calling_thread) {
  // Links follow a process through exec, and the kernel puts the breakpoints into what the new program maps. When another
  // than the first thread called it, that thread became the first one, and links of the old one are dead.
  if (calling_thread != pid) {
    if (const auto found = processes_.find(pid); found != processes_.end()) {
      let_go(found->second);
      found->second = Process{};
    }
  }
  processes_[pid].mapped.clear();
  attach_expected(pid);
  forget_tables(pid);
  scan(pid);
}

void Attacher::on_exit(int pid) {
  if (const auto found = processes_.find(pid); found != processes_.end()) {
    let_go(found->second);
    processes_.erase(found);
  }
  forget_tables(pid);
}

void Attacher::forget_tables(int pid) {
  std::erase_if(waiting_, [&](const WaitingTable& waiting) { return waiting.pid == pid; });
  std::erase_if(undecided_, [&](const UndecidedTable& undecided) { return undecided.pid == pid; });
}

void Attacher::let_go(Process& process) {
  closer_.close(std::move(process.links));
  process.links.clear();
}

bool Attacher::uses_cuda(int pid) const {
  const auto found = processes_.find(pid);
  return found != processes_.end() && std::ranges::any_of(found->second.mapped, [](const Library* library) {
           return library->kind != LibraryKind::nccl;
         });
}

bool Attacher::used_cuda_before(int pid, int64_t time_ns) const {
  const auto found = processes_.find(pid);
  return uses_cuda(pid) && found->second.mapped_since_ns < time_ns;
}

std::vector<int> Attacher::processes() const {
  std::vector<int> all;
  all.reserve(processes_.size());
  for (const auto& [pid, process] : processes_) {
    all.push_back(pid);
  }
  return all;
}

}  // namespace kvet::record
