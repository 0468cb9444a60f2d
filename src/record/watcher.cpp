#include "record/watcher.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "probes/kernel/event.h"
#include "record/process_facts.h"

namespace kvet::record {

Result<std::unique_ptr<Watcher>> Watcher::create(const probes::TargetMap& targets) {
  std::unique_ptr<Watcher> watcher(new Watcher(targets));
  auto probe = probes::ProcessProbe::load(
      targets, [raw = watcher.get()](std::span<const std::byte> event) { raw->on_event(event); });
  if (!probe) {
    return std::unexpected(probe.error());
  }
  watcher->probe_ = std::make_unique<probes::ProcessProbe>(std::move(*probe));
  if (auto attached = watcher->probe_->attach(); !attached) {
    return std::unexpected(attached.error());
  }
  auto mappings = MappingWatch::open();
  if (!mappings) {
    return std::unexpected(mappings.error());
  }
  watcher->mappings_ = std::make_unique<MappingWatch>(std::move(*mappings));
  return watcher;
}

Watcher::~Watcher() { stop(); }

Result<void> Watcher::start(const std::vector<int>& processes, const std::vector<std::string>& expected) {
  attacher_ = std::make_unique<Attacher>(
      programs_,
      AttachEvents{
          .attached = [this](int pid, const Library& library) { tell(AttachedNews{pid, library.kind, library.path}); },
          .table = [this](int pid, probes::Table table) { tell(TableNews{pid, monotonic_ns(), std::move(table)}); },
          .failed = [this](const Library& library, const Error& error) { tell(FailedNews{library.kind, error}); },
          .no_activity = [this](int pid, kvet_inject_status status) { tell(NoActivityNews{pid, status}); },
      });
  wake_.reset(eventfd(0, EFD_CLOEXEC));
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  std::vector<int> descriptors = mappings_->descriptors();
  descriptors.push_back(probe_->descriptor());
  descriptors.push_back(wake_.get());
  for (const int descriptor : descriptors) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
      return fail(ErrorKind::internal, std::string("epoll: ") + std::strerror(errno), "the watcher");
    }
  }
  for (const std::string& path : expected) {
    attacher_->expect(path);
  }
  for (const int pid : processes) {
    introduce(pid);
    attacher_->attach_expected(pid);
    attacher_->scan(pid);
  }
  thread_ = std::thread([this] { run(); });
  return {};
}

void Watcher::stop() {
  if (thread_.joinable()) {
    stopping_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
    thread_.join();
  }
}

void Watcher::run() {
  // A few milliseconds of work for each new library, on which targets wait (200 ms at most): before everything else on a
  // busy machine. Without the right to it, it goes on as it is.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), -10);
  pthread_setname_np(pthread_self(), "kvet-watcher");
  bool soon = false;
  while (!stopping_) {
    epoll_event events[8];
    epoll_wait(epoll_.get(), events, 8, soon ? 1 : 100);
    probe_->poll();
    poll_mappings();
    if (attacher_->has_waiting_tables()) {
      // An injected library that finds its table open goes on to launch. The driver was mapped before it, by this process
      // or by the one that it was forked from, perhaps on a CPU whose records had been read a moment too early: once
      // more, so that its probes are in place.
      probe_->poll();
      poll_mappings();
      soon = attacher_->retry_tables();
    } else {
      soon = false;
    }
  }
}

void Watcher::poll_mappings() {
  const bool lost = mappings_->poll([this](int pid, const Mapping& mapping) {
    if (targets_.contains(pid)) {
      attacher_->on_mapping(pid, mapping);
    }
  });
  if (lost) {
    for (const int pid : attacher_->processes()) {
      attacher_->scan(pid);
    }
  }
}

void Watcher::on_event(std::span<const std::byte> bytes) {
  const auto event = probes::take_event<kvet_event_process>(bytes, KVET_EVENT_PROCESS);
  if (!event || !attacher_) {
    return;
  }
  switch (static_cast<kvet_process_change>(event->change)) {
    case KVET_PROCESS_FORK: on_fork(*event); break;
    case KVET_PROCESS_EXEC: on_exec(*event); break;
    case KVET_PROCESS_EXIT: on_exit(*event); break;
  }
}

void Watcher::on_fork(const kvet_event_process& event) {
  const auto child = static_cast<int32_t>(event.child);
  const auto parent = static_cast<int32_t>(event.header.process_id);
  // What the parent had mapped before it forked was told before the fork was; the child has it too.
  poll_mappings();
  // Attach first: the child may launch at once. What /proc says about it can wait.
  attacher_->on_fork(parent, child, event.shares_memory != 0);
  if (attacher_->uses_cuda(child)) {
    const int64_t delay = monotonic_ns() - static_cast<int64_t>(event.header.time_ns);
    longest_attach_delay_ns_ = std::max<int64_t>(longest_attach_delay_ns_, delay);
  }
  ProcessNews news{.pid = child, .parent_pid = parent, .time_ns = static_cast<int64_t>(event.header.time_ns)};
  news.namespace_pid = namespace_pid(child).value_or(0);
  news.name = probes::fixed_text(event.name);
  tell(std::move(news));
}

void Watcher::on_exec(const kvet_event_process& event) {
  const auto pid = static_cast<int32_t>(event.header.process_id);
  ProcessNews news{.change = ProcessNews::Change::exec, .pid = pid};
  news.time_ns = static_cast<int64_t>(event.header.time_ns);
  news.used_cuda = attacher_->used_cuda_before(pid, news.time_ns);
  attacher_->on_exec(pid, static_cast<int>(event.child));
  news.name = probes::fixed_text(event.name);
  news.command_line = command_line(pid);
  tell(std::move(news));
}

void Watcher::on_exit(const kvet_event_process& event) {
  const auto pid = static_cast<int32_t>(event.header.process_id);
  attacher_->on_exit(pid);
  tell(ProcessNews{.change = ProcessNews::Change::end,
                   .pid = pid,
                   .time_ns = static_cast<int64_t>(event.header.time_ns),
                   .exit_code = event.exit_code});
}

void Watcher::introduce(int pid) {
  ProcessNews news{.pid = pid, .time_ns = monotonic_ns()};
  news.namespace_pid = namespace_pid(pid).value_or(0);
  news.name = process_name(pid);
  news.command_line = command_line(pid);
  tell(std::move(news));
}

void Watcher::tell(News news) {
  const std::lock_guard lock(mutex_);
  news_.push_back(std::move(news));
}

std::vector<News> Watcher::take_news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

}  // namespace kvet::record
