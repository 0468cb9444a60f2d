// The part of a recording in which the target runs.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "base/terminal.h"
#include "record/process_facts.h"
#include "record/recording.h"

namespace kvet::record {

namespace {

// Rings are sized for this interval (see the programs); short enough for a handful of milliseconds between an event and
// the file, long enough to cost nothing.
constexpr int poll_interval_ms = 5;
constexpr int64_t second = 1'000'000'000;
// CUPTI hands over what it holds 0.1 s after it was asked to (KVET_FLUSH_MS), so this long after the end of the window
// everything in it has come.
constexpr int64_t flush_patience_ns = 500'000'000;

}  // namespace

void Recording::run() {
  while (stopped_by_ == nullptr) {
    wait();
    handle_signals();
    if (target_) {
      target_->update();
    }
    take_news();
    poll_sources();
    finish_exited();
    const int64_t now = monotonic_ns();
    if (now - second_ns_ >= second) {
      second_ns_ = now;
      every_second(now);
    }
    check_stop(now);
    show_progress(now);
  }
}

void Recording::wait() {
  pollfd files[4];
  nfds_t count = 0;
  for (const int descriptor : {signals_->descriptor(), target_ && !target_->ended() ? target_->descriptor() : -1,
                               joined_.get(), sampler_ ? sampler_->descriptor() : -1}) {
    if (descriptor >= 0) {
      files[count++] = {descriptor, POLLIN, 0};
    }
  }
  poll(files, count, poll_interval_ms);
}

void Recording::handle_signals() {
  while (const auto number = signals_->next()) {
    if (*number == SIGCHLD || *number == SIGPIPE || *number == SIGXFSZ) {
      continue;  // update() looks; and a write that fails says so itself
    }
    if (*number == SIGUSR1 || *number == SIGUSR2) {
      // Meant for the command, as when a batch system asks for a checkpoint.
      if (target_) {
        target_->forward(*number);
      }
      continue;
    }
    ++interrupts_;
    if (!target_ || target_->ended() || interrupts_ > 1) {
      // The second time, or with nobody to pass it on to: the recorder itself is meant.
      stop_by("interrupt");
    } else {
      target_->forward(*number);
    }
  }
}

void Recording::take_news() {
  if (!kernel_) {
    return;
  }
  for (News& news : kernel_->take_news()) {
    std::visit([this](auto& one) { on_news(one); }, news);
  }
}

void Recording::on_news(ProcessNews& news) {
  switch (news.change) {
    case ProcessNews::Change::begin: {
      const ProcessId process = processes_.begin({.pid = news.pid,
                                                  .parent_pid = news.parent_pid,
                                                  .namespace_pid = news.namespace_pid,
                                                  .name = news.name,
                                                  .command_line = news.command_line,
                                                  .start_ns = news.time_ns});
      threads_.set_process(process, news.pid, news.namespace_pid);
      alive_.insert(news.pid);
      return;
    }
    case ProcessNews::Change::exec: {
      const ProcessId before = processes_.at(news.pid, news.time_ns);
      const ProcessId process = processes_.exec(news.pid, news.time_ns, news.name, news.command_line, news.used_cuda);
      threads_.set_process(process, news.pid, processes_.process(process).namespace_pid);
      if (before != process) {
        exited_.push_back({before, news.time_ns});
      }
      return;
    }
    case ProcessNews::Change::end:
      exited_.push_back({processes_.at(news.pid, news.time_ns), news.time_ns});
      processes_.end(news.pid, news.time_ns, news.exit_code);
      alive_.erase(news.pid);
      kernel_->forget_process(news.pid);
      return;
  }
}

void Recording::on_news(AttachedNews& news) { cuda_seen_ |= news.kind == LibraryKind::cuda; }

void Recording::on_news(TableNews& news) {
  const ProcessId process = processes_.at(news.pid, news.time_ns);
  with_table_.insert(process);
  activity_->set_table(process, std::move(news.table));
}

void Recording::on_news(FailedNews& news) {
  const std::string message = news.error.message();
  if (complained_.insert(message).second) {
    print_warning("not recorded: " + message);
    kernel_->drop(news.kind == LibraryKind::nccl   ? "nccl"
                  : news.kind == LibraryKind::cuda ? "launch"
                                                   : "activity",
                  message);
  }
}

void Recording::on_news(NoActivityNews& news) {
  ++without_activity_;
  const std::string message = probes::sentence(news.status);
  if (complained_.insert(message).second) {
    print_warning(message + ". Launches are recorded all the same, by eBPF");
  }
}

void Recording::poll_sources() {
  if (kernel_) {
    kernel_->poll();
  }
  poll_memory_ring(false);
  if (sampler_) {
    sampler_->poll(sink_);
  }
}

void Recording::poll_memory_ring(bool at_end) {
  if (!memory_) {
    return;
  }
  const auto handler = [this](const kvet_batch_header& header, std::span<const kvet_record> records) {
    const int64_t now = monotonic_ns();
    auto sender = memory_processes_->sender(header, now, window_from_ns_ - options_.delay_ns);
    if (!sender) {
      ++forged_batches_;
      return;
    }
    if (sender->before_exec) {
      activity_->finish(*sender->before_exec, now);
    }
    if (sender->table) {
      with_table_.insert(sender->process);
      activity_->set_table(sender->process, std::move(*sender->table));
    }
    activity_->decode(sender->process, header, records);
  };
  if (at_end) {
    memory_->drain(handler);
  } else {
    memory_->poll(handler);
  }
}

void Recording::finish_exited() {
  // Their last batches were in the ring before their exit was told, and the ring was read since.
  for (const Exited& exited : exited_) {
    if (activity_) {
      activity_->finish(exited.process, exited.time_ns);
    }
  }
  exited_.clear();
}

void Recording::every_second(int64_t now_ns) {
  report_losses();
  if (auto committed = writer_->commit(); !committed && !store_complained_) {
    store_complained_ = true;
    print_warning("the capture is not written any more: " + committed.error().message());
  }
  // A process whose exit was lost (a full ring) must not keep the recording alive. One whose exit is only on its way, and
  // perhaps the fork of its child with it, is not there either: so twice, a second apart.
  std::set<int32_t> missing;
  for (const int32_t pid : alive_) {
    if (kill(pid, 0) != 0 && errno == ESRCH) {
      missing.insert(pid);
    }
  }
  for (const int32_t pid : missing) {
    if (missing_.contains(pid)) {
      alive_.erase(pid);
    }
  }
  missing_ = std::move(missing);
  note_survivors(now_ns);
}

void Recording::check_stop(int64_t now_ns) {
  if (options_.duration_ns && now_ns >= window_from_ns_ + *options_.duration_ns) {
    stop_by("duration");
  } else if (target_ && target_->ended()) {
    if (root_ended_ns_ == 0) {
      root_ended_ns_ = now_ns;
    }
    // The target is the tree: children that outlive the command belong to it.
    if (!kernel_ || alive_.empty()) {
      stop_by(interrupts_ > 0 || target_->interrupted() ? "interrupt" : "exit");
    }
  } else if (joined_.valid()) {
    pollfd file{joined_.get(), POLLIN, 0};
    if (poll(&file, 1, 0) == 1) {
      stop_by("exit");
    }
  }
}

void Recording::stop_by(const char* why) {
  if (stopped_by_ == nullptr) {
    stopped_by_ = why;
    window_to_ns_ = std::max(monotonic_ns(), window_from_ns_);  // it may end before its delay is over
    if (options_.duration_ns) {
      window_to_ns_ = std::min(window_to_ns_, window_from_ns_ + *options_.duration_ns);
    }
    sink_.set_to(window_to_ns_);
  }
}

void Recording::note_survivors(int64_t now_ns) {
  if (!survivors_noted_ && root_ended_ns_ != 0 && now_ns - root_ended_ns_ >= second && !alive_.empty()) {
    survivors_noted_ = true;
    print_note("the command has ended, and " + std::to_string(alive_.size()) +
               " of its processes run on and are still recorded (the first: " + std::to_string(*alive_.begin()) +
               "). ^C ends the recording and leaves them alone");
  }
}

void Recording::show_progress(int64_t now_ns) {
  // A command has the terminal to itself; beside a running process there is room for one line.
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal || target_ || now_ns - progress_ns_ < second / 2) {
    return;
  }
  progress_ns_ = now_ns;
  const WindowSink::Counts& counts = sink_.counts();
  const int64_t seconds = std::max<int64_t>(now_ns - window_from_ns_, 0) / second;
  fprintf(stderr, "\rkvet: %lld s, %llu launches, %llu losses \033[K", static_cast<long long>(seconds),
          static_cast<unsigned long long>(counts.launches), static_cast<unsigned long long>(counts.losses));
}

void Recording::drain() {
  if (progress_ns_ != 0) {
    fputs("\r\033[K", stderr);
  }
  const bool running = kernel_ ? !alive_.empty() : target_ && !target_->ended();
  if (library_ && running) {
    library_->keep();
  }
  if (activity_ && running) {
    while (monotonic_ns() < window_to_ns_ + flush_patience_ns) {
      wait();
      take_news();
      poll_sources();
    }
  }
  if (kernel_) {
    kernel_->stop();
    take_news();
  }
  poll_sources();
  poll_memory_ring(true);
  finish_exited();
  if (activity_ && memory_processes_) {
    for (const ProcessId process : memory_processes_->ended()) {
      activity_->finish(process, monotonic_ns());
    }
  }
  if (activity_) {
    activity_->finish_all();
  }
  if (sampler_) {
    constexpr auto patience = std::chrono::seconds(10);
    sampler_->stop(sink_, patience, !running || options_.pulses.value_or(false));
  }
  report_losses();
}

}  // namespace kvet::record
