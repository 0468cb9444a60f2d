// A dispatcher that is kept from launching, each time for a planted reason and a known time, by the real scheduler.
//
//   waits --phase PHASE --truth FILE [--rounds 20] [--wait-us 10000] [--cgroup FOLDER]
//
// Each round launches one kernel, waits until the GPU is done, and is then held up, so that the stream starves for just
// that reason. PHASE:
//
//   sleep       it asks to sleep until a time
//   futex       another thread holds a mutex until a time
//   poll, io    another thread writes into a pipe at a time, which it polls or reads
//   relay       the same as io, but that thread only passes on what a third one writes at that time
//   queue       it wakes up while a competitor of higher priority runs on its CPU
//   preempted   a competitor of higher priority takes its CPU while it runs
//   crowd       competitors of its own priority share its CPU while it runs
//   quota       its cgroup (FOLDER, made by the caller, its quota set) runs out of CPU time while it runs
//
// Truth, one row per wait: class, thread, start, end. It is read from the clock by whoever made the wait: the thread that
// unlocks or writes, the competitor that runs. A sleep, a crowd and a quota add what the kernel accounts to the thread in
// that time: blocked, on a run queue, not on a CPU. Competitors write: competitor, thread id; who
// made the dispatcher wait: helper, thread id.
//
// The thread and its competitors are under SCHED_FIFO but in the phases crowd and quota, so that nothing else on a busy
// machine comes between; they wait for absolute times, with a timer slack of a nanosecond.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_api.h"

namespace workloads {
namespace {

struct Settings {
  std::string phase, truth, cgroup;
  int rounds = 20;
  int64_t wait_ns = 10'000'000;
};

// The competitor has two priorities more than the dispatcher, who has one more than nothing.
constexpr int dispatcher_priority = 10, competitor_priority = 12;
constexpr int not_allowed = 77;

constexpr const char* module_text =
    "//simcuda _Z11late_kernelPf registers=32 block_ns=200000 read=1024 write=1024 instructions=1000\n";

void sleep_until(int64_t time_ns) {
  const timespec at{time_ns / 1'000'000'000, time_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}
void spin_until(int64_t time_ns) {
  while (now_ns() < time_ns) {
  }
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    std::perror("waits: sched_setaffinity");
    std::exit(not_allowed);
  }
}
void prioritise(int priority) {
  const sched_param parameters{.sched_priority = priority};
  // Not inherited by the driver's own threads.
  if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) != 0) {
    std::perror("waits: sched_setscheduler");
    std::exit(not_allowed);
  }
}
// Before the end: what runs there (a leak check waits for a thread of its own, on this CPU) is no part of the plan, and a
// competitor that takes 950 ms more, until the kernel throttles it, would be found by kvet and not be in the truth.
void give_priority_up() {
  const sched_param none{};
  sched_setscheduler(0, SCHED_OTHER, &none);
}

// The last two CPUs that this process may use: one for the dispatcher, one for who makes it wait from elsewhere.
struct Places {
  int dispatcher = -1, helper = -1;
};
Places places() {
  cpu_set_t set;
  Places found;
  sched_getaffinity(0, sizeof set, &set);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      found.helper = found.dispatcher < 0 ? cpu : found.dispatcher;
      found.dispatcher = cpu;
    }
  }
  return found;
}

std::FILE* truth_file = nullptr;
void wait_row(const char* kind, int64_t start_ns, int64_t end_ns) {
  std::fprintf(truth_file, "%s\t%d\t%lld\t%lld\n", kind, thread_id(), static_cast<long long>(start_ns),
               static_cast<long long>(end_ns));
}
void accounted_row(const char* kind, int64_t start_ns, int64_t end_ns, int64_t amount_ns) {
  std::fprintf(truth_file, "%s\t%d\t%lld\t%lld\t%lld\n", kind, thread_id(), static_cast<long long>(start_ns),
               static_cast<long long>(end_ns), static_cast<long long>(amount_ns));
}

// What the kernel accounts to the calling thread: time on a CPU, and time on a run queue, which is the second number of
// /proc/thread-self/schedstat (Documentation/scheduler/sched-stats). The first number there is as old as the last tick.
struct Accounts {
  int64_t time_ns = 0, ran_ns = 0, queued_ns = 0;
};
int64_t queued_ns() {
  long long ran = 0, queued = 0;
  std::FILE* file = std::fopen("/proc/thread-self/schedstat", "r");
  if (file == nullptr || std::fscanf(file, "%lld %lld", &ran, &queued) != 2) {
    std::fprintf(stderr, "waits: /proc/thread-self/schedstat cannot be read\n");
    std::exit(not_allowed);
  }
  std::fclose(file);
  return queued;
}
// All of one moment: read again where the thread was kept from its CPU in between.
Accounts accounts() {
  for (;;) {
    Accounts read;
    read.queued_ns = queued_ns();
    timespec on_cpu{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &on_cpu);
    read.ran_ns = on_cpu.tv_sec * 1'000'000'000ll + on_cpu.tv_nsec;
    read.time_ns = now_ns();
    if (queued_ns() == read.queued_ns) {
      return read;
    }
  }
}

class Gpu {
 public:
  Gpu() {
    void *context = nullptr, *module = nullptr;
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    MUST(cuModuleLoadData(&module, module_text));
    MUST(cuModuleGetFunction(&function_, module, "_Z11late_kernelPf"));
    MUST(cuStreamCreate(&stream_, 1));
  }
  void launch() const { MUST(cuLaunchKernel(function_, 16, 1, 1, 128, 1, 1, 0, stream_, nullptr, nullptr)); }
  void run_once() const {
    launch();
    MUST(cuStreamSynchronize(stream_));
  }

 private:
  void* function_ = nullptr;
  void* stream_ = nullptr;
};

// When each round's wait begins: what both sides know beforehand, so that they need not talk, which would be a wait too.
struct Plan {
  int64_t base_ns, wait_ns;
  int rounds;
  [[nodiscard]] int64_t period_ns() const { return 2 * wait_ns + 8'000'000; }
  [[nodiscard]] int64_t begin(int round) const { return base_ns + round * period_ns() + 4'000'000; }
  [[nodiscard]] int64_t end(int round) const { return begin(round) + wait_ns; }
};

// A process of its own that takes the CPU from begin − `early` to end of every round, and writes when it had it.
void compete(const Plan& plan, int cpu, int64_t early_ns, const std::string& truth) {
  prctl(PR_SET_NAME, "competitor");
  prctl(PR_SET_TIMERSLACK, 1);
  pin(cpu);
  prioritise(competitor_priority);
  std::vector<std::pair<int64_t, int64_t>> ran;
  for (int round = 0; round < plan.rounds; ++round) {
    sleep_until(plan.begin(round) - early_ns);
    const int64_t start = now_ns();
    spin_until(plan.end(round));
    ran.emplace_back(start, now_ns());
  }
  give_priority_up();
  std::FILE* file = std::fopen((truth + ".competitor").c_str(), "w");
  if (file == nullptr) {
    std::exit(1);
  }
  std::fprintf(file, "competitor\t%d\n", thread_id());
  for (const auto& [start, end] : ran) {
    std::fprintf(file, "ran\t%d\t%lld\t%lld\n", thread_id(), static_cast<long long>(start),
                 static_cast<long long>(end));
  }
  std::exit(std::fclose(file) == 0 ? 0 : 1);
}

// Before the driver is initialised: a child of a process with CUDA in it is of no use.
pid_t begin_competitor(const Plan& plan, int cpu, int64_t early_ns, const std::string& truth) {
  const pid_t child = fork();
  if (child == 0) {
    compete(plan, cpu, early_ns, truth);
  }
  return child;
}

int ended(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void blocked_by_itself(const Settings& settings, const Plan& plan, int helper_cpu) {
  const std::string& phase = settings.phase;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int pipes[2];
  if (pipe(pipes) != 0) {
    std::exit(1);
  }
  std::atomic<int> held{-1};
  std::vector<int64_t> released(static_cast<size_t>(plan.rounds));
  int32_t helper_id = 0;
  std::vector<std::thread> helpers;
  const auto begin_helper = [&](auto do_round) {
    helpers.emplace_back([&, do_round] {
      prctl(PR_SET_NAME, "helper");
      prctl(PR_SET_TIMERSLACK, 1);
      pin(helper_cpu);
      prioritise(dispatcher_priority);
      for (int round = 0; round < plan.rounds; ++round) {
        do_round(round);
      }
    });
  };
  const auto pass_a_byte = [](int into) {
    if (write(into, "x", 1) != 1) {
      std::exit(1);
    }
  };
  int relay[2];
  if (phase == "relay") {
    if (pipe(relay) != 0) {
      std::exit(1);
    }
    begin_helper([&](int) {
      char byte = 0;
      if (read(relay[0], &byte, 1) != 1) {
        std::exit(1);
      }
      pass_a_byte(pipes[1]);
    });
  }
  if (phase != "sleep") {
    begin_helper([&](int round) {
      helper_id = thread_id();
      if (phase == "futex") {
        pthread_mutex_lock(&mutex);
        held = round;
      }
      sleep_until(plan.end(round));
      released[static_cast<size_t>(round)] = now_ns();
      if (phase == "futex") {
        pthread_mutex_unlock(&mutex);
        sleep_until(plan.end(round) + plan.wait_ns / 2);  // the dispatcher's turn
      } else {
        pass_a_byte(phase == "relay" ? relay[1] : pipes[1]);
      }
    });
  }
  const Gpu gpu;
  std::vector<int64_t> asked, blocked;
  for (int round = 0; round < plan.rounds; ++round) {
    if (round == 0 || phase != "sleep") {  // else the only sleeps are the planted ones
      sleep_until(plan.begin(round) - 2'000'000);
    } else {
      spin_until(plan.begin(round) - 2'000'000);
    }
    gpu.run_once();
    spin_until(plan.begin(round));
    char byte = 0;
    if (phase == "futex") {
      while (held != round) {
      }
      asked.push_back(now_ns());
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    } else if (phase == "sleep") {
      const Accounts before = accounts();
      asked.push_back(before.time_ns);
      sleep_until(plan.end(round));
      const Accounts after = accounts();
      blocked.push_back(after.time_ns - before.time_ns - (after.ran_ns - before.ran_ns) -
                        (after.queued_ns - before.queued_ns));
    } else {
      pollfd wanted{pipes[0], POLLIN, 0};
      asked.push_back(now_ns());
      if (phase == "poll") {
        poll(&wanted, 1, -1);
      }
      if (read(pipes[0], &byte, 1) != 1) {
        std::exit(1);
      }
    }
    gpu.launch();
  }
  gpu.run_once();  // the last call: what follows is no dispatching
  for (std::thread& helper : helpers) {
    helper.join();
  }
  if (!helpers.empty()) {
    std::fprintf(truth_file, "helper\t%d\n", helper_id);
  }
  for (int round = 0; round < plan.rounds; ++round) {
    const auto at = static_cast<size_t>(round);
    if (phase == "sleep") {
      accounted_row("sleep", asked[at], plan.end(round), blocked[at]);
    } else {
      wait_row(phase.c_str(), asked[at], released[at]);
    }
  }
}

// The competitor's own readings are the truth of these.
void kept_from_its_cpu(const Settings& settings, const Plan& plan) {
  const Gpu gpu;
  for (int round = 0; round < plan.rounds; ++round) {
    sleep_until(plan.begin(round) - 3'000'000);
    gpu.run_once();
    if (settings.phase == "queue") {
      const int64_t wake = plan.begin(round);
      const int64_t asked = now_ns();
      sleep_until(wake);
      wait_row("woken", asked, wake);
    } else {
      spin_until(plan.end(round));
    }
    gpu.launch();
  }
  gpu.run_once();
}

void in_a_crowd(const Plan& plan) {
  const Gpu gpu;
  for (int round = 0; round < plan.rounds; ++round) {
    gpu.run_once();
    const Accounts before = accounts();
    spin_until(before.time_ns + 5 * plan.wait_ns);
    const Accounts after = accounts();
    accounted_row("crowd", before.time_ns, after.time_ns, after.queued_ns - before.queued_ns);
    gpu.launch();
  }
  gpu.run_once();
}

void with_a_quota(const Settings& settings, const Plan& plan) {
  const Gpu gpu;
  gpu.run_once();
  // Version 1 takes a thread, version 2 the whole process, whose other threads are idle here.
  std::string tasks = settings.cgroup + "/tasks";
  if (access(tasks.c_str(), W_OK) != 0) {
    tasks = settings.cgroup + "/cgroup.procs";
  }
  std::FILE* file = std::fopen(tasks.c_str(), "w");
  if (file == nullptr || std::fprintf(file, "%d", thread_id()) < 0 || std::fclose(file) != 0) {
    std::perror(("waits: " + tasks).c_str());
    std::exit(not_allowed);
  }
  for (int round = 0; round < plan.rounds; ++round) {
    gpu.run_once();
    const Accounts before = accounts();
    spin_until(before.time_ns + 5 * plan.wait_ns);
    const Accounts after = accounts();
    const int64_t wall = after.time_ns - before.time_ns;
    accounted_row("quota", before.time_ns, after.time_ns, wall - (after.ran_ns - before.ran_ns));
    gpu.launch();
  }
  gpu.run_once();
}

int run(const Settings& settings) {
  const Places cpus = places();
  truth_file = std::fopen(settings.truth.c_str(), "w");
  if (truth_file == nullptr) {
    std::perror(settings.truth.c_str());
    return 1;
  }
  // Start-up of a recorded process may take half a second on a busy machine.
  const Plan plan{now_ns() + 3'000'000'000, settings.wait_ns, settings.rounds};
  const std::string& phase = settings.phase;
  std::vector<pid_t> children;
  if (phase == "queue" || phase == "preempted") {
    children.push_back(begin_competitor(plan, cpus.dispatcher, phase == "queue" ? 1'000'000 : 0, settings.truth));
  } else if (phase == "crowd") {
    for (int i = 0; i < 3; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_NAME, "competitor");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(cpus.dispatcher);
        for (;;) {
        }
      }
      children.push_back(child);
      std::fprintf(truth_file, "competitor\t%d\n", child);
    }
  } else if (phase != "sleep" && phase != "quota") {
    if (cpus.helper == cpus.dispatcher) {
      std::fprintf(stderr, "waits: %s needs two CPUs\n", phase.c_str());
      return not_allowed;
    }
  }
  pin(cpus.dispatcher);
  prctl(PR_SET_TIMERSLACK, 1);
  if (phase == "crowd") {
    in_a_crowd(plan);
  } else if (phase == "quota") {
    with_a_quota(settings, plan);
  } else {
    prioritise(dispatcher_priority);
    if (phase == "queue" || phase == "preempted") {
      kept_from_its_cpu(settings, plan);
    } else {
      blocked_by_itself(settings, plan, cpus.helper);
    }
    give_priority_up();
  }
  int worst = 0;
  for (const pid_t child : children) {
    if (phase == "crowd") {
      kill(child, SIGKILL);
      ended(child);
    } else {
      worst = std::max(worst, ended(child));
    }
  }
  return std::fclose(truth_file) == 0 ? worst : 1;
}

}  // namespace
}  // namespace workloads

int main(int count, char** arguments) {
  workloads::Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    const char* value = arguments[i + 1];
    if (name == "--phase") {
      settings.phase = value;
    } else if (name == "--truth") {
      settings.truth = value;
    } else if (name == "--cgroup") {
      settings.cgroup = value;
    } else if (name == "--rounds") {
      settings.rounds = std::atoi(value);
    } else if (name == "--wait-us") {
      settings.wait_ns = std::atoll(value) * 1000;
    } else {
      std::fprintf(stderr, "waits: unknown option %s\n", name.c_str());
      return 2;
    }
  }
  if (settings.phase.empty() || settings.truth.empty()) {
    std::fprintf(stderr, "waits: --phase and --truth are needed\n");
    return 2;
  }
  return workloads::run(settings);
}
