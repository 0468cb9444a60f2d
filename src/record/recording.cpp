// The passes of a recording up to the target's start.
#include "record/recording.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/terminal.h"
#include "capability/libraries.h"
#include "capability/system.h"
#include "record/cupti_places.h"
#include "record/process_facts.h"

namespace kvet::record {

namespace {

// What a program with this environment would load first, as `kvet doctor` finds it.
std::vector<std::string> probable_libraries(const Environment& environment) {
  capability::System system;
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    system.environment.insert_or_assign(entry.substr(0, equals), entry.substr(equals + 1));
  }
  std::vector<std::string> paths;
  for (const char* name : {"libcuda.so", "libnccl.so"}) {
    const auto found = capability::find_library(system, name);
    // Enough for the places that count; a toolkit's stubs are of no use and do no harm.
    for (size_t index = 0; index < found.size() && index < 4; ++index) {
      paths.push_back(found[index].path);
    }
  }
  return paths;
}

}  // namespace

Recording::Recording(const RecordOptions& options) : options_(options) {}

Recording::~Recording() = default;

Result<void> Recording::find_target() {
  if (options_.pid) {
    const int pid = *options_.pid;
    const auto group = thread_group(pid);
    const std::string subject = "process " + std::to_string(pid);
    if (!group) {
      return fail(ErrorKind::unavailable, "there is no such process", subject,
                  "check the id: `ps -p " + std::to_string(pid) + "`");
    }
    if (*group != pid) {
      return fail(ErrorKind::unavailable, "is a thread, not a process", subject,
                  "give its process: --pid " + std::to_string(*group));
    }
    joined_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!joined_.valid()) {
      return fail(ErrorKind::unavailable, std::string("cannot be followed: ") + std::strerror(errno), subject);
    }
    return {};
  }
  user_ = invoking_user();
  environment_ = user_ ? environment_of(*user_) : own_environment();
  auto program = find_command(options_.command.front(), environment_);
  if (!program) {
    return std::unexpected(program.error());
  }
  program_ = std::move(*program);
  return {};
}

Result<void> Recording::choose_tier() {
  Means means{.has_command = !options_.pid, .no_bpf = {}, .no_injection = {}};
  if (options_.tier != TierChoice::unprivileged) {
    auto kernel = KernelSources::load(sink_, processes_);
    if (kernel) {
      kernel_ = std::move(*kernel);
    } else {
      means.no_bpf = kernel.error().message();
    }
  }
  if (!options_.pid) {
    means.no_injection = injection_taken(environment_);
    if (auto library = PrivateLibrary::create(); library) {
      library_.emplace(std::move(*library));
    } else if (!means.no_injection) {
      means.no_injection = library.error().message();
    }
  }
  auto plan = plan_tier(options_.tier, means);
  if (!plan) {
    return std::unexpected(plan.error());
  }
  plan_ = *plan;
  if (!plan_.bpf) {
    kernel_.reset();
  }
  if (plan_.inject) {
    activity_ = std::make_unique<probes::ActivityDecoder>(
        sink_, devices_,
        probes::ActivityDecoder::Callbacks{
            .translate_thread = [this](ProcessId process,
                                       int32_t thread) { return threads_.translate(process, thread); },
            .open_table = {}});
  }
  if (kernel_) {
    kernel_->load_programs(activity_.get(), library_ ? library_->path() : "");
    if (plan_.inject && !kernel_->has_activity()) {
      return fail(ErrorKind::unavailable, kernel_->dropped().back().second, "the device tier",
                  "--tier host and --tier unprivileged do without it");
    }
    for (const auto& [source, why] : kernel_->dropped()) {
      print_warning(fmt::format("no recording of {}: {}", source, why));
    }
  } else if (plan_.inject) {
    auto ring = probes::MemoryRing::create();
    if (!ring) {
      return std::unexpected(ring.error());
    }
    memory_.emplace(std::move(*ring));
    memory_processes_.emplace(*memory_, processes_);
  }
  if (!plan_.reason.empty() && options_.tier == TierChoice::automatic) {
    print_note("tier " + plan_.base + ": " + plan_.reason);
  }
  return {};
}

Result<void> Recording::open_file() {
  auto writer = store::CaptureWriter::create(options_.output);
  if (!writer) {
    return std::unexpected(writer.error());
  }
  writer_ = std::move(*writer);
  file_made_ = true;
  aligning_.emplace(*writer_);
  sink_.connect(*aligning_);
  if (user_ && lchown(options_.output.c_str(), user_->user, user_->group) != 0) {
    print_warning("the capture " + options_.output + " stays root's: " + std::strerror(errno));
  }
  return {};
}

Result<void> Recording::start_counters() {
  if (options_.sampler_program.empty()) {
    return {};
  }
  probes::SamplerOptions sampler;
  switch (options_.counters) {
    case Counters::pm: sampler.mode = probes::CounterMode::performance_monitor; break;
    case Counters::gpm: sampler.mode = probes::CounterMode::gpm; break;
    case Counters::off: sampler.mode = probes::CounterMode::off; break;
  }
  sampler.interval_ns = options_.interval_ns.value_or(sampler.interval_ns);
  sampler.pulses = options_.pulses.value_or(!options_.pid.has_value());
  sampler.detail = options_.detail;
  sampler.bursts.length_ns = static_cast<uint64_t>(options_.burst_ns.value_or(sampler.bursts.length_ns));
  sampler.bursts.period_ns = static_cast<uint64_t>(options_.burst_every_ns.value_or(sampler.bursts.period_ns));
  sampler.program = options_.sampler_program;
  sampler.library_paths =
      options_.pid ? cupti_of_process(*options_.pid, invoking_user()) : cupti_of_python(program_, environment_, user_);
  auto client = probes::SamplerClient::start(sampler, devices_);
  if (!client) {
    return std::unexpected(client.error());
  }
  sampler_ = std::move(*client);
  if (options_.counters == Counters::off) {
    return {};
  }
  // What is sampled until the target starts is no part of the recording, and there are the sampler's own pulses in it.
  sink_.set_from(std::numeric_limits<int64_t>::max());
  // Finding the GPU, configuring and starting takes about a second; the limit is for a driver that hangs.
  constexpr auto patience = std::chrono::seconds(10);
  const bool ready = sampler_->wait_ready(sink_, patience);
  if (!ready && options_.tier == TierChoice::full) {
    return fail(ErrorKind::unavailable, sampler_->status(), "the full tier",
                "--tier device does without counters; `kvet doctor` says what they need");
  }
  return {};
}

Result<void> Recording::start_target() {
  signals_.emplace();
  start_facts();
  if (options_.pid) {
    if (auto started = kernel_->start(process_tree(*options_.pid), {}); !started) {
      return started;
    }
    open_window();
    return {};
  }
  Target::Start start{.command = options_.command,
                      .program = program_,
                      .environment = environment_,
                      .user = user_,
                      .inherited = {},
                      .blocked_signals = signals_->blocked_before()};
  if (plan_.inject) {
    InjectionSettings settings{.library = library_->path(), .wait_for_probe = plan_.bpf, .discard = options_.discard};
    if (memory_) {
      settings.memory_descriptor = memory_->descriptor();
      settings.memory_path = memory_->path();
      start.inherited.push_back(memory_->descriptor());
    }
    inject(start.environment, settings);
  }
  auto target = Target::prepare(start);
  if (!target) {
    return std::unexpected(target.error());
  }
  target_.emplace(std::move(*target));
  if (kernel_) {
    if (auto started = kernel_->start({target_->pid()}, probable_libraries(environment_)); !started) {
      return started;
    }
  }
  open_window();
  return target_->run();
}

void Recording::open_window() {
  window_from_ns_ = monotonic_ns() + options_.delay_ns;
  sink_.set_from(window_from_ns_);
  if (options_.duration_ns) {
    sink_.set_to(window_from_ns_ + *options_.duration_ns);
  }
}

void Recording::remove_file() {
  if (std::exchange(file_made_, false)) {
    writer_.reset();
    for (const char* suffix : {"", "-wal", "-shm"}) {
      unlink((options_.output + suffix).c_str());
    }
  }
}

}  // namespace kvet::record
