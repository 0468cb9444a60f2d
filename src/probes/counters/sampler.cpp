#include "probes/counters/sampler.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>
#include <utility>

#include "probes/counters/device_sampler.h"
#include "probes/counters/message_writer.h"
#include "probes/counters/nvml_reader.h"
#include "probes/counters/pm_session.h"
#include "probes/counters/pulse_anchor.h"
#include "probes/counters/refusal.h"
#include "probes/counters/vendor_libraries.h"

namespace kvet::probes {
namespace {

constexpr int reading_period_ms = 100;
constexpr int64_t shortest_gpm_ns = 100'000'000;
constexpr int64_t cross_check_gpm_ns = 1'000'000'000;
constexpr int64_t hang_limit_ns = 10'000'000'000;
// A context takes some tenths of a second. The recorder waits 10 s for everything before the target starts.
constexpr std::chrono::milliseconds pulses_before_limit{4'000}, pulses_after_limit{2'500};

// One GPU as CUDA and NVML see it.
struct Gpu {
  uint32_t index = 0;
  std::array<uint8_t, 16> uuid{};
  int cuda_ordinal = -1;       // −1: CUDA does not list it
  const NvmlGpu* nvml = nullptr;  // null: NVML does not list it
  kvet_sampler_device message{};
  std::atomic<int64_t> gpm_period_ns = 0;  // 0: no GPM
  bool lost = false;  // and said so; the NVML thread's
};

class Sampler {
 public:
  explicit Sampler(const SamplerArguments& arguments) : arguments_(arguments), writer_(arguments.data_descriptor) {}
  [[noreturn]] void run();

 private:
  void set_up();  // on a thread of its own: any of NVIDIA's calls may take long or hang
  void list_gpus();
  void add_cuda_gpus(const CudaLibrary& cuda);
  void add_nvml_gpus();
  Gpu* find_or_add(const std::array<uint8_t, 16>& uuid);
  void sample(Gpu& gpu);
  // A train of pulses on every GPU that is sampled, all at the same time; returns when the last is done or out of time.
  void fix_clocks(kvet_sampler_anchor_moment moment, std::chrono::milliseconds limit);
  void fall_back(Gpu& gpu, const std::string& why);
  void read_nvml();  // on a thread of its own, until the end
  void send_status(uint32_t device, kvet_sampler_state state, const std::string& text);
  [[nodiscard]] bool told_to_stop(int64_t& drain_ns);
  void stop(int64_t drain_ns);

  const SamplerArguments& arguments_;
  MessageWriter writer_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::unique_ptr<NvmlReader> nvml_;
  std::unique_ptr<PmLibrary> pm_;
  std::string cuda_trouble_;  // why CUDA lists no GPU
  std::mutex samplers_mutex_;
  std::vector<std::unique_ptr<DeviceSampler>> samplers_;
  std::vector<uint32_t> reported_hanging_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> ready_ = false;
  bool pulses_after_ = true;
};

void Sampler::send_status(uint32_t device, kvet_sampler_state state, const std::string& text) {
  kvet_sampler_status status{};
  status.device = device;
  status.state = state;
  std::strncpy(status.text, text.c_str(), sizeof(status.text) - 1);
  writer_.send(KVET_SAMPLER_STATUS, status);
}

Gpu* Sampler::find_or_add(const std::array<uint8_t, 16>& uuid) {
  const auto& wanted = arguments_.devices;
  if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), uuid) == wanted.end()) {
    return nullptr;
  }
  for (auto& gpu : gpus_) {
    if (gpu->uuid == uuid) {
      return gpu.get();
    }
  }
  auto gpu = std::make_unique<Gpu>();
  gpu->index = static_cast<uint32_t>(gpus_.size());
  gpu->uuid = uuid;
  gpu->message.index = gpu->index;
  std::copy(uuid.begin(), uuid.end(), std::begin(gpu->message.uuid));
  gpus_.push_back(std::move(gpu));
  return gpus_.back().get();
}

void Sampler::add_cuda_gpus(const CudaLibrary& cuda) {
  if (int code = cuda.init(0); code != 0) {
    cuda_trouble_ = code == KVET_CUDA_ERROR_NO_DEVICE
                        ? "there is no GPU that CUDA can use"
                        : fmt::format(
                              "CUDA does not start: cuInit failed with error {}. See CUresult in CUDA's "
                              "documentation; the driver and its library must be of one version",
                              code);
    return;
  }
  int count = 0;
  if (cuda.device_get_count(&count) != 0 || count == 0) {
    cuda_trouble_ = "there is no GPU that CUDA can use";
    return;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    kvet_cuda_uuid uuid{};
    if (cuda.device_get(&device, ordinal) != 0 || cuda.device_get_uuid(&uuid, device) != 0) {
      continue;
    }
    Gpu* gpu = find_or_add(std::to_array(uuid.bytes));
    if (gpu == nullptr) {
      continue;
    }
    gpu->cuda_ordinal = ordinal;
    kvet_sampler_device& message = gpu->message;
    const auto attribute = [&](kvet_cuda_device_attribute which) -> uint32_t {
      int value = 0;
      return cuda.device_get_attribute(&value, which, device) == 0 && value > 0 ? static_cast<uint32_t>(value) : 0;
    };
    cuda.device_get_name(message.name, sizeof(message.name) - 1, device);
    size_t bytes = 0;
    if (cuda.device_total_memory(&bytes, device) == 0) {
      message.memory_bytes = bytes;
    }
    message.compute_major = attribute(KVET_CUDA_COMPUTE_MAJOR);
    message.compute_minor = attribute(KVET_CUDA_COMPUTE_MINOR);
    message.multiprocessors = attribute(KVET_CUDA_MULTIPROCESSORS);
    const uint32_t threads_per_warp = std::max(1u, attribute(KVET_CUDA_WARP_SIZE));
    message.max_warps_per_multiprocessor = attribute(KVET_CUDA_MAX_THREADS_PER_MULTIPROCESSOR) / threads_per_warp;
    message.max_blocks_per_multiprocessor = attribute(KVET_CUDA_MAX_BLOCKS_PER_MULTIPROCESSOR);
    message.max_registers_per_multiprocessor = attribute(KVET_CUDA_MAX_REGISTERS_PER_MULTIPROCESSOR);
    message.max_shared_bytes_per_multiprocessor = attribute(KVET_CUDA_MAX_SHARED_PER_MULTIPROCESSOR);
    message.max_shared_bytes_per_block = attribute(KVET_CUDA_MAX_SHARED_PER_BLOCK_OPTIN);
    // Two transfers per clock, as every DRAM that NVIDIA uses: peak = 2 × clock × bus width.
    message.memory_bandwidth_bytes_per_s =
        uint64_t{2} * attribute(KVET_CUDA_MEMORY_CLOCK_KHZ) * 1000 * (attribute(KVET_CUDA_MEMORY_BUS_BITS) / 8);
    message.l2_bytes = attribute(KVET_CUDA_L2_BYTES);
  }
}

void Sampler::add_nvml_gpus() {
  for (const NvmlGpu& seen : nvml_->gpus()) {
    Gpu* gpu = find_or_add(seen.uuid);
    if (gpu == nullptr) {
      continue;
    }
    gpu->nvml = &seen;
    gpu->message.power_limit_milliwatts = seen.power_limit_milliwatts;
    if (gpu->message.name[0] == '\0') {
      std::strncpy(gpu->message.name, seen.name.c_str(), sizeof(gpu->message.name) - 1);
    }
    if (gpu->message.memory_bytes == 0) {
      gpu->message.memory_bytes = seen.memory_bytes;
    }
  }
}

// What the kernel module says, where NVML does not: "580.159.03".
std::string module_version() {
  char line[32] = {};
  if (FILE* file = std::fopen("/sys/module/nvidia/version", "re")) {
    if (std::fgets(line, sizeof(line), file) != nullptr) {
      line[std::strcspn(line, "\n")] = '\0';
    }
    std::fclose(file);
  }
  return line;
}

void Sampler::list_gpus() {
  auto cuda = load_cuda();
  if (cuda) {
    add_cuda_gpus(*cuda);
  } else {
    cuda_trouble_ = cuda.error().message();
  }
  if (auto reader = NvmlReader::open()) {
    nvml_ = std::make_unique<NvmlReader>(std::move(*reader));
    add_nvml_gpus();
  }
  const std::string driver = nvml_ != nullptr ? nvml_->driver_version() : module_version();
  for (auto& gpu : gpus_) {
    std::strncpy(gpu->message.driver_version, driver.c_str(), sizeof(gpu->message.driver_version) - 1);
    writer_.send(KVET_SAMPLER_DEVICE, gpu->message);
  }
}

void Sampler::fall_back(Gpu& gpu, const std::string& why) {
  if (gpu.nvml == nullptr || !nvml_->has_gpm(*gpu.nvml)) {
    const std::string no_gpm =
        gpu.nvml == nullptr ? "NVML does not list this GPU" : "the GPU has no GPM (Hopper and later)";
    send_status(gpu.index, KVET_SAMPLER_STATE_REFUSED, why.empty() ? no_gpm : why);
    return;
  }
  gpu.gpm_period_ns = std::max(shortest_gpm_ns, static_cast<int64_t>(arguments_.interval_ns));
  send_status(gpu.index, KVET_SAMPLER_STATE_GPM,
              why.empty() ? ""
                          : fmt::format("GPM readings every {} ms instead of samples, since {}",
                                        gpu.gpm_period_ns / 1'000'000, why));
}

void Sampler::sample(Gpu& gpu) {
  if (gpu.cuda_ordinal < 0) {
    fall_back(gpu, cuda_trouble_.empty() ? "CUDA does not list this GPU" : cuda_trouble_);
    return;
  }
  if (gpu.nvml != nullptr && gpu.nvml->split_by_mig) {
    fall_back(gpu, refusal("", KVET_PM_MIG_DEVICE, ""));
    return;
  }
  PmOptions options;
  options.interval_ns = arguments_.interval_ns;
  options.detail = arguments_.detail;
  auto session = PmSession::open(*pm_, static_cast<size_t>(gpu.cuda_ordinal), options);
  if (!session) {
    fall_back(gpu, session.error().message());
    return;
  }
  auto sampler = std::make_unique<DeviceSampler>(writer_, gpu.index, std::move(*session), arguments_.interval_ns,
                                                 arguments_.bursts);
  DeviceSampler* started = sampler.get();
  {
    const std::lock_guard lock(samplers_mutex_);
    samplers_.push_back(std::move(sampler));
  }
  if (const std::string why_not = started->wait_flowing(); !why_not.empty()) {
    fall_back(gpu, why_not);
  } else if (arguments_.gpm_cross_check && gpu.nvml != nullptr && nvml_->has_gpm(*gpu.nvml)) {
    gpu.gpm_period_ns = cross_check_gpm_ns;
  }
}

void Sampler::fix_clocks(kvet_sampler_anchor_moment moment, std::chrono::milliseconds limit) {
  if (!arguments_.pulses) {
    return;
  }
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(samplers_mutex_);
    for (auto& sampler : samplers_) {
      if (sampler->done()) {
        continue;
      }
      const Gpu& gpu = *gpus_[sampler->index()];
      const AnchorPlan plan{.ordinal = gpu.cuda_ordinal,
                            .multiprocessors = gpu.message.multiprocessors,
                            .interval_ns = arguments_.interval_ns,
                            .moment = moment,
                            .limit = limit};
      threads.emplace_back([this, plan, sampling = sampler.get()] {
        writer_.send(KVET_SAMPLER_ANCHOR, measure_anchor(*sampling, plan));
      });
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void Sampler::set_up() {
  list_gpus();
  if (gpus_.empty()) {
    std::string why = cuda_trouble_.empty() ? "there is no GPU that CUDA can use" : cuda_trouble_;
    if (!arguments_.devices.empty()) {
      why = "none of the GPUs asked for is here";
    }
    send_status(KVET_SAMPLER_ALL_DEVICES, KVET_SAMPLER_STATE_REFUSED, why);
  } else if (nvml_ != nullptr) {
    std::thread([this] { read_nvml(); }).detach();
  }
  uint32_t sampled = 0;
  std::string pm_trouble;
  if (arguments_.mode == CounterMode::performance_monitor && !gpus_.empty()) {
    auto library = load_pm(arguments_.library_paths);
    if (library) {
      pm_ = std::make_unique<PmLibrary>(std::move(*library));
      kvet_pm_profiler_initialize initialize{KVET_PM_SIZE(kvet_pm_profiler_initialize, private_data), nullptr};
      if (int code = pm_->profiler_initialize(&initialize); code != KVET_PM_SUCCESS) {
        pm_trouble = refusal("cuptiProfilerInitialize", code, "");
      }
    } else {
      pm_trouble = library.error().message();
    }
  }
  for (auto& gpu : gpus_) {
    switch (arguments_.mode) {
      case CounterMode::performance_monitor:
        if (pm_trouble.empty()) {
          sample(*gpu);
        } else {
          fall_back(*gpu, pm_trouble);
        }
        break;
      case CounterMode::gpm: fall_back(*gpu, ""); break;
      case CounterMode::off: send_status(gpu->index, KVET_SAMPLER_STATE_OFF, ""); break;
    }
  }
  // The target has not started yet: its first kernel comes after the last pulse.
  fix_clocks(KVET_SAMPLER_BEFORE, pulses_before_limit);
  {
    const std::lock_guard lock(samplers_mutex_);
    for (auto& sampler : samplers_) {
      sampled += sampler->done() ? 0 : 1;
    }
  }
  kvet_sampler_ready ready{};
  ready.devices = static_cast<uint32_t>(gpus_.size());
  ready.devices_sampled = sampled;
  writer_.send(KVET_SAMPLER_READY, ready);
  ready_ = true;
}

void Sampler::read_nvml() {
  struct Gpm {
    kvet_nvml_gpm_sample sample = nullptr;
    int64_t time_ns = 0;
  };
  std::vector<Gpm> gpm(gpus_.size());
  int64_t next_ns = monotonic_ns();
  while (!stopping_) {
    for (auto& gpu : gpus_) {
      if (gpu->nvml == nullptr) {
        continue;
      }
      kvet_sampler_reading reading{};
      reading.device = gpu->index;
      if (const std::string lost = nvml_->read(*gpu->nvml, reading); !lost.empty() && !std::exchange(gpu->lost, true)) {
        send_status(gpu->index, KVET_SAMPLER_STATE_DEGRADED, lost);
      }
      Gpm& before = gpm[gpu->index];
      const int64_t now_ns = monotonic_ns();
      if (gpu->gpm_period_ns != 0 && now_ns - before.time_ns >= gpu->gpm_period_ns) {
        kvet_nvml_gpm_sample sample = nvml_->take_gpm(*gpu->nvml);
        nvml_->compare_gpm(before.sample, sample, reading);
        nvml_->free_gpm(before.sample);
        before = {sample, now_ns};
      }
      reading.time_ns = static_cast<uint64_t>(now_ns);
      writer_.send(KVET_SAMPLER_READING, reading);
    }
    // On a fixed grid, so that a slow reading does not stretch the rate; after a stall it starts anew.
    next_ns = std::max(next_ns + reading_period_ms * 1'000'000, monotonic_ns());
    while (!stopping_ && monotonic_ns() < next_ns) {
      ::usleep(5000);
    }
  }
}

bool Sampler::told_to_stop(int64_t& drain_ns) {
  pollfd control{arguments_.control_descriptor, POLLIN, 0};
  if (::poll(&control, 1, 20) <= 0) {
    return false;
  }
  uint64_t drain_ms = 0;
  const ssize_t count = ::read(arguments_.control_descriptor, &drain_ms, sizeof(drain_ms));
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
    return false;
  }
  if (count != sizeof(drain_ms)) {
    ::_exit(0);  // the recorder is gone: nobody wants the rest
  }
  if ((drain_ms & KVET_SAMPLER_STOP_WITHOUT_PULSES) != 0) {
    pulses_after_ = false;
    drain_ms &= ~KVET_SAMPLER_STOP_WITHOUT_PULSES;
  }
  drain_ns = static_cast<int64_t>(std::min<uint64_t>(drain_ms, 600'000)) * 1'000'000;
  return true;
}

void Sampler::stop(int64_t drain_ns) {
  const int64_t deadline_ns = monotonic_ns() + drain_ns;
  if (ready_ && pulses_after_) {
    fix_clocks(KVET_SAMPLER_AFTER, std::min(pulses_after_limit, std::chrono::milliseconds(drain_ns / 3'000'000)));
  }
  stopping_ = true;
  // A decoding that has begun may go on a little beyond the deadline; one that hangs is left behind.
  while (monotonic_ns() < deadline_ns + 200'000'000) {
    writer_.flush();
    {
      const std::lock_guard lock(samplers_mutex_);
      bool done = ready_ || samplers_.empty();  // before that more of them may come
      for (auto& sampler : samplers_) {
        sampler->request_stop(deadline_ns);
        done = done && sampler->done();
      }
      if (done) {
        break;
      }
    }
    ::usleep(2000);
  }
  writer_.report_drops();
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  kvet_sampler_end end{};
  end.samples_sent = writer_.samples_sent();
  end.processor_time_ns = static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
  {
    const std::lock_guard lock(samplers_mutex_);
    for (const auto& sampler : samplers_) {
      if (sampler->done()) {
        const DeviceSampler::Account account = sampler->account();
        end.decode_processor_ns += account.decode_processor_ns;
        end.evaluate_processor_ns += account.evaluate_processor_ns;
        end.bursts += account.bursts;
        end.paused_ns += account.paused_ns;
      }
    }
  }
  writer_.send(KVET_SAMPLER_END, end);
  writer_.flush_until(std::chrono::steady_clock::now() + std::chrono::seconds(10));
}

void Sampler::run() {
  ::signal(SIGPIPE, SIG_IGN);
  kvet_sampler_hello hello{};
  hello.version = KVET_SAMPLER_VERSION;
  hello.process_id = static_cast<uint32_t>(::getpid());
  writer_.send(KVET_SAMPLER_HELLO, hello);
  std::thread([this] { set_up(); }).detach();

  int64_t drain_ns = 0;
  while (!told_to_stop(drain_ns)) {
    writer_.flush();
    if (writer_.broken()) {
      ::_exit(0);
    }
    const std::lock_guard lock(samplers_mutex_);
    for (auto& sampler : samplers_) {
      const bool reported =
          std::find(reported_hanging_.begin(), reported_hanging_.end(), sampler->index()) != reported_hanging_.end();
      if (!sampler->done() && !reported && monotonic_ns() - sampler->last_progress_ns() > hang_limit_ns) {
        reported_hanging_.push_back(sampler->index());
        send_status(sampler->index(), KVET_SAMPLER_STATE_DEGRADED,
                    "CUPTI has not returned from a call for 10 s: samples are missing from then on");
      }
    }
  }
  stop(drain_ns);
  ::_exit(0);
}

}  // namespace

void run_sampler(const SamplerArguments& arguments) {
  // Never destroyed: detached threads may still use it when the process ends.
  auto* sampler = std::make_unique<Sampler>(arguments).release();
  sampler->run();
}

}  // namespace kvet::probes
