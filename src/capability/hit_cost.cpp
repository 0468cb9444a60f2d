#include "capability/hit_cost.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/file_descriptor.h"
#include "capability/bpf_trial.h"
#include "capability/probe_targets.h"

namespace kvet::capability {

namespace {

constexpr int batches = 5;
constexpr int calls_per_batch = 4000;  // 40 ms at 10 µs a hit; the clock's own 20 ns are then nothing
constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

// What the child sends through the pipe: fewer bytes than PIPE_BUF, so it arrives whole.
struct Message {
  std::array<double, 4> ns{not_measured, not_measured, not_measured, not_measured};  // push, endbr64, other, return
  int error_number = 0;
  std::array<char, 16> stage{};
};

double now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double ns_per_call(void (*function)()) {
  // Through a volatile pointer: the call must happen, and each time.
  void (*volatile target)() = function;
  std::array<double, batches> costs{};
  for (double& cost : costs) {
    const double begin = now_ns();
    for (int call = 0; call < calls_per_batch; ++call) {
      target();
    }
    cost = (now_ns() - begin) / calls_per_batch;
  }
  std::nth_element(costs.begin(), costs.begin() + batches / 2, costs.end());
  return costs[batches / 2];
}

Message measure() {
  Message message;
  auto failed = [&](const char* stage) {
    message.error_number = errno;
    std::strncpy(message.stage.data(), stage, message.stage.size() - 1);
    return message;
  };
  const FileDescriptor program = load_nothing();
  if (!program.valid()) {
    return failed("program");
  }
  void (*const targets[])() = {kvet_target_push, kvet_target_endbr, kvet_target_other};
  for (size_t index = 0; index < std::size(targets); ++index) {
    const double plain = ns_per_call(targets[index]);
    const auto* address = reinterpret_cast<const void*>(targets[index]);
    const FileDescriptor entry = attach_to_own_function(program.get(), address, Where::entry);
    if (!entry.valid()) {
      return failed("uprobe");
    }
    const double probed = ns_per_call(targets[index]);
    message.ns[index] = probed - plain;
    if (index == 0) {
      const FileDescriptor at_return = attach_to_own_function(program.get(), address, Where::at_return);
      if (!at_return.valid()) {
        return failed("return probe");
      }
      message.ns[3] = ns_per_call(targets[index]) - probed;
    }
  }
  return message;
}

std::optional<double> known(double value) { return std::isnan(value) ? std::nullopt : std::optional(value); }

}  // namespace

HitCost measure_hit_cost() {
  int ends[2];
  if (::pipe(ends) != 0) {
    return {{}, {}, {}, {}, explain(errno)};
  }
  FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    return {{}, {}, {}, {}, explain(errno)};
  }
  if (child == 0) {
    const Message message = measure();
    // Leaving without destructors or buffers of the parent: nothing of it is ours.
    ::_exit(::write(writer.get(), &message, sizeof message) == sizeof message ? 0 : 1);
  }
  writer.reset();

  // Long enough for a slow machine, short enough that a stuck kernel does not hang the doctor.
  constexpr int patience_ms = 20'000;
  pollfd waiting{reader.get(), POLLIN, 0};
  Message message;
  int ready = 0;
  while ((ready = ::poll(&waiting, 1, patience_ms)) < 0 && errno == EINTR) {
  }
  const bool arrived = ready == 1 && ::read(reader.get(), &message, sizeof message) == sizeof message;
  if (!arrived) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!arrived) {
    return {{}, {}, {}, {}, "the process that measures it ended early"};
  }
  std::string reason;
  if (message.error_number != 0) {
    reason = std::string(message.stage.data()) + ": " + explain(message.error_number);
  }
  return {known(message.ns[0]), known(message.ns[1]), known(message.ns[2]), known(message.ns[3]), reason};
}

}  // namespace kvet::capability
