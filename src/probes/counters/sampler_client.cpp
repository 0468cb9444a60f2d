#include "probes/counters/sampler_client.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/file_descriptor.h"
#include "probes/counters/message_decoder.h"

extern char** environ;

namespace kvet::probes {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int child_data_descriptor = 3;
constexpr int child_control_descriptor = 4;
// 1 MiB is what an unprivileged process may ask for (/proc/sys/fs/pipe-max-size): 6,900 samples, 0.7 s at 100 µs.
constexpr int pipe_bytes = 1 << 20;
// Setting up eight GPUs whose driver state was not kept takes tens of seconds; afterwards NVML readings come ten times
// per second, so that ten silent seconds mean that the sampler hangs.
constexpr auto silence_before_ready = std::chrono::seconds(120);
constexpr auto silence_afterwards = std::chrono::seconds(10);
constexpr size_t bytes_per_poll = 8u << 20;  // so that one poll cannot keep the recorder from its other sources

// What would make the sampler see other GPUs than there are, or load somebody's profiler into it. The MPS folder: as a
// client of an MPS daemon the sampler would stand in the target's way; a folder without a daemon keeps it out.
constexpr std::array<std::string_view, 5> removed_variables = {
    "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=", "CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=",
    "CUDA_MPS_PIPE_DIRECTORY="};
constexpr std::array<const char*, 2> added_variables = {"CUDA_DEVICE_ORDER=PCI_BUS_ID",
                                                        "CUDA_MPS_PIPE_DIRECTORY=/dev/null"};

int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string hexadecimal(const DeviceDirectory::Uuid& uuid) {
  std::string text;
  for (uint8_t byte : uuid) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

// A pipe whose ends are closed on exec and lie above the numbers that the child expects its ends at.
Result<void> make_pipe(FileDescriptor& read_end, FileDescriptor& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorKind::internal, fmt::format("no pipe to the counter sampler: {}", std::strerror(errno)));
  }
  FileDescriptor low_read(ends[0]), low_write(ends[1]);
  read_end.reset(::fcntl(ends[0], F_DUPFD_CLOEXEC, 10));
  write_end.reset(::fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
  if (!read_end.valid() || !write_end.valid()) {
    return fail(ErrorKind::internal, fmt::format("no pipe to the counter sampler: {}", std::strerror(errno)));
  }
  return {};
}

// Ends a process without waiting for it longer than 0.2 s: one that the kernel cannot end now (a driver call that hangs)
// is left to init.
void end_process(pid_t process) {
  ::kill(process, SIGKILL);
  for (int tries = 0; tries < 100 && ::waitpid(process, nullptr, WNOHANG) == 0; ++tries) {
    ::usleep(2000);
  }
}

class Client final : public SamplerClient {
 public:
  Client(const SamplerOptions& options, DeviceDirectory& directory)
      : options_(options), decoder_(directory, options.mode), last_message_(Clock::now()) {}
  ~Client() override {
    control_.reset();
    if (process_ > 0) {
      end_process(process_);
    }
  }

  Result<void> spawn();

  void poll(EventSink& sink) override;
  bool wait_ready(EventSink& sink, std::chrono::milliseconds limit) override;
  void stop(EventSink& sink, std::chrono::milliseconds limit, bool pulses) override;

  [[nodiscard]] int descriptor() const override { return data_.get(); }
  [[nodiscard]] bool sampling() const override { return data_.valid() && decoder_.sampling(); }
  [[nodiscard]] CounterMode achieved_mode() const override { return decoder_.achieved_mode(); }
  [[nodiscard]] std::string status() const override { return trouble_.empty() ? decoder_.status() : trouble_; }
  [[nodiscard]] uint64_t samples() const override { return decoder_.samples(); }

 private:
  // Reads what is there. False: nothing was there.
  bool read_some(EventSink& sink);
  // The child is gone or is no use any more: says so once, as a loss and as the status.
  void give_up(EventSink& sink, std::string why);
  void reap(EventSink& sink);
  // Waits for bytes until the deadline, at most.
  void wait_for_bytes(Clock::time_point deadline) const;

  SamplerOptions options_;
  MessageDecoder decoder_;
  FileDescriptor data_, control_;
  pid_t process_ = -1;
  std::string trouble_;
  Clock::time_point last_message_;
  int64_t last_message_ns_ = 0;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(256u << 10);
};

Result<void> Client::spawn() {
  FileDescriptor child_data, child_control;
  if (auto made = make_pipe(data_, child_data); !made) {
    return made;
  }
  if (auto made = make_pipe(child_control, control_); !made) {
    return made;
  }
  ::fcntl(data_.get(), F_SETPIPE_SZ, pipe_bytes);  // smaller is no fault: the sampler queues
  ::fcntl(data_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(control_.get(), F_SETFL, O_NONBLOCK);

  std::vector<std::string> words = {"kvet",
                                    "__sampler",
                                    "--mode",
                                    name(options_.mode),
                                    "--interval-ns",
                                    std::to_string(options_.interval_ns),
                                    "--detail",
                                    options_.detail ? "yes" : "no",
                                    "--burst-interval-ns",
                                    std::to_string(options_.bursts.interval_ns),
                                    "--burst-length-ns",
                                    std::to_string(options_.bursts.length_ns),
                                    "--burst-period-ns",
                                    std::to_string(options_.bursts.period_ns),
                                    "--data-descriptor",
                                    std::to_string(child_data_descriptor),
                                    "--control-descriptor",
                                    std::to_string(child_control_descriptor)};
  if (!options_.pulses) {
    words.insert(words.end(), {"--pulses", "no"});
  }
  if (!options_.gpm_cross_check) {
    words.insert(words.end(), {"--gpm-cross-check", "no"});
  }
  for (const std::string& path : options_.library_paths) {
    words.insert(words.end(), {"--library", path});
  }
  for (const auto& uuid : options_.devices) {
    words.insert(words.end(), {"--device", hexadecimal(uuid)});
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);

  std::vector<std::string> added(added_variables.begin(), added_variables.end());
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    bool keep = true;
    for (std::string_view removed : removed_variables) {
      keep = keep && !text.starts_with(removed);
    }
    if (keep) {
      environment.push_back(*variable);
    }
  }
  for (std::string& variable : added) {
    environment.push_back(variable.data());
  }
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // NVIDIA's libraries may print; what the recorder prints is its own.
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, child_data.get(), child_data_descriptor);
  posix_spawn_file_actions_adddup2(&actions, child_control.get(), child_control_descriptor);
  // A process group of its own: ^C on the terminal is for the recorder, which then stops the sampler in good order.
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int error =
      ::posix_spawn(&process_, options_.program.c_str(), &actions, &attributes, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    process_ = -1;
    return fail(ErrorKind::internal, fmt::format("the counter sampler does not start: {}", std::strerror(error)),
                options_.program);
  }
  return {};
}

bool Client::read_some(EventSink& sink) {
  const ssize_t count = ::read(data_.get(), buffer_.data(), buffer_.size());
  if (count > 0) {
    last_message_ = Clock::now();
    last_message_ns_ = monotonic_ns();
    if (auto fed = decoder_.feed(sink, std::span(buffer_).first(static_cast<size_t>(count))); !fed) {
      give_up(sink, fed.error().message());
      return false;
    }
    return true;
  }
  if (count == 0) {
    reap(sink);
  } else if (errno != EAGAIN && errno != EINTR) {
    give_up(sink, fmt::format("the pipe from the counter sampler cannot be read: {}", std::strerror(errno)));
  }
  return false;
}

void Client::poll(EventSink& sink) {
  for (size_t read = 0; data_.valid() && read < bytes_per_poll; read += buffer_.size()) {
    if (!read_some(sink)) {
      break;
    }
  }
  if (data_.valid()) {
    const auto silence = Clock::now() - last_message_;
    if (silence > (decoder_.ready() ? Clock::duration(silence_afterwards) : Clock::duration(silence_before_ready))) {
      give_up(sink, fmt::format("the counter sampler has said nothing for {} s and was ended",
                                std::chrono::duration_cast<std::chrono::seconds>(silence).count()));
    }
  }
}

void Client::reap(EventSink& sink) {
  data_.reset();
  int wait_status = 0;
  // The pipe is closed, so the child is exiting or gone; one that lingers with a closed pipe is ended.
  const auto deadline = Clock::now() + std::chrono::milliseconds(200);
  pid_t reaped = 0;
  while ((reaped = ::waitpid(process_, &wait_status, WNOHANG)) == 0 && Clock::now() < deadline) {
    ::usleep(2000);
  }
  if (reaped == 0) {
    end_process(process_);
  }
  process_ = -1;
  if (decoder_.ended()) {
    return;
  }
  if (reaped == 0) {
    give_up(sink, "the counter sampler closed its pipe without an end and was ended");
  } else if (WIFSIGNALED(wait_status)) {
    give_up(sink, fmt::format("the counter sampler died of signal {} ({})", WTERMSIG(wait_status),
                              ::strsignal(WTERMSIG(wait_status))));
  } else {
    give_up(sink, fmt::format("the counter sampler ended by itself with status {}", WEXITSTATUS(wait_status)));
  }
}

void Client::give_up(EventSink& sink, std::string why) {
  data_.reset();
  control_.reset();
  if (process_ > 0) {
    end_process(process_);
    process_ = -1;
  }
  if (!trouble_.empty()) {
    return;
  }
  trouble_ =
      std::move(why) + "; counters are missing from then on. Report it with the versions of the driver and of libcupti";
  Loss loss;
  loss.source = Source::counters;
  loss.kind = LossKind::sampler_died;
  loss.count = 1;
  if (last_message_ns_ != 0) {
    loss.first_ns = last_message_ns_;
  }
  loss.last_ns = monotonic_ns();
  sink.on(loss);
}

void Client::wait_for_bytes(Clock::time_point deadline) const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd descriptor{data_.get(), POLLIN, 0};
  ::poll(&descriptor, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 50)));
}

bool Client::wait_ready(EventSink& sink, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  poll(sink);
  while (data_.valid() && !decoder_.ready() && Clock::now() < deadline) {
    wait_for_bytes(deadline);
    poll(sink);
  }
  return sampling();
}

void Client::stop(EventSink& sink, std::chrono::milliseconds limit, bool pulses) {
  const auto deadline = Clock::now() + limit;
  if (control_.valid()) {
    // How long it may go on handing over what the hardware buffer holds; the rest of the limit is for the pipe.
    const auto drain_ms =
        static_cast<uint64_t>(limit.count() * 8 / 10) | (pulses ? 0 : KVET_SAMPLER_STOP_WITHOUT_PULSES);
    // A dead child makes this fail; SIGPIPE must not end the recorder.
    sigset_t pipe_signal, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    [[maybe_unused]] const ssize_t written = ::write(control_.get(), &drain_ms, sizeof(drain_ms));
    const timespec at_once{};
    while (::sigtimedwait(&pipe_signal, nullptr, &at_once) == -1 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    control_.reset();
  }
  poll(sink);
  while (data_.valid() && Clock::now() < deadline) {
    wait_for_bytes(deadline);
    poll(sink);
  }
  if (data_.valid()) {
    give_up(sink, fmt::format("the counter sampler did not stop within {} ms and was ended", limit.count()));
  }
  sink.on(Meta{"counters.mode", name(achieved_mode())});
  sink.on(Meta{"counters.interval_ns", std::to_string(options_.interval_ns)});
  sink.on(Meta{"counters.status", status()});
  if (!decoder_.metrics().empty()) {
    sink.on(Meta{"counters.metrics", decoder_.metrics()});
  }
  if (decoder_.ended()) {
    const kvet_sampler_end& end = decoder_.end();
    sink.on(Meta{"counters.processor_time_ns", std::to_string(end.processor_time_ns)});
    sink.on(Meta{"counters.processor_time_decode_ns", std::to_string(end.decode_processor_ns)});
    sink.on(Meta{"counters.processor_time_evaluate_ns", std::to_string(end.evaluate_processor_ns)});
    if (end.bursts > 0) {
      sink.on(Meta{"counters.bursts", std::to_string(end.bursts)});
      sink.on(Meta{"counters.burst_interval_ns", std::to_string(options_.bursts.interval_ns)});
    }
    if (end.paused_ns > 0) {
      sink.on(Meta{"counters.paused_ns", std::to_string(end.paused_ns)});
    }
  }
  if (!decoder_.driver_version().empty()) {
    sink.on(Meta{"driver_version", decoder_.driver_version()});
  }
}

}  // namespace

Result<std::unique_ptr<SamplerClient>> SamplerClient::start(const SamplerOptions& options, DeviceDirectory& directory) {
  // Below 2 µs the hardware was never seen to keep up; GPM has nothing to say over less than 100 ms.
  if (options.interval_ns < 2'000 || options.interval_ns > 1'000'000'000) {
    return fail(ErrorKind::usage,
                fmt::format("a counter interval of {} ns is not between 2 µs and 1 s", options.interval_ns),
                "--interval", "100us is the default, 10us the finest that is useful for long");
  }
  SamplerOptions checked = options;
  if (checked.bursts.wanted() &&
      (checked.bursts.interval_ns < 2'000 || checked.bursts.length_ns / checked.bursts.interval_ns > 1'000)) {
    return fail(ErrorKind::usage, "a burst has at most 1,000 samples, 2 µs apart or more", "--burst",
                "5ms at 10us is the default, 0 leaves bursts out");
  }
  // Where all samples are that fine, there is nothing to look closer at.
  if (checked.interval_ns <= static_cast<int64_t>(checked.bursts.interval_ns)) {
    checked.bursts.length_ns = 0;
  }
  auto client = std::make_unique<Client>(checked, directory);
  if (auto spawned = client->spawn(); !spawned) {
    return std::unexpected(spawned.error());
  }
  return client;
}

}  // namespace kvet::probes
