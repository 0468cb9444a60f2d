#include "gpu_work/context.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <ctime>
#include <utility>

namespace kvet::gpu_work {

struct ContextState {
  Driver driver;
  DeviceFacts device;
  kvet_cuda_context_t context = nullptr;
  bool stuck = false;

  // The driver keeps a current context per thread.
  [[nodiscard]] int enter() const { return driver.context_set_current(context); }
  // May something be freed now?
  [[nodiscard]] bool enter_to_free() const { return !stuck && enter() == KVET_CUDA_SUCCESS; }
  ~ContextState() {
    if (context != nullptr && !stuck) {
      driver.context_destroy(context);
    }
  }
};

namespace {

constexpr const char* close_others = "Free memory on the GPU (nvidia-smi lists its processes), or choose another one";

std::unexpected<Error> refuse(const ContextState& state, int result, std::string_view doing) {
  std::string advice;
  switch (result) {
    case KVET_CUDA_ERROR_OUT_OF_MEMORY: advice = close_others; break;
    case KVET_CUDA_ERROR_DEVICE_UNAVAILABLE:
      advice = "Another process holds the GPU in exclusive mode: stop it, or run nvidia-smi -c DEFAULT";
      break;
    case KVET_CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
      advice = "Install the driver's libnvidia-ptxjitcompiler.so.1 (in a container: the driver capability \"compute\")";
      break;
    case KVET_CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case KVET_CUDA_ERROR_INVALID_PTX:
    case KVET_CUDA_ERROR_NO_BINARY_FOR_GPU:
      advice = "kvet's kernels need a GPU of compute capability 7.0 or later";
      break;
    default: break;
  }
  return fail(ErrorKind::unavailable, fmt::format("{}: {}", doing, state.driver.describe(result)), state.device.name,
              advice);
}

int attribute(const Driver& driver, int which, int device, int otherwise) {
  int value = otherwise;
  return driver.device_get_attribute(&value, which, device) == KVET_CUDA_SUCCESS ? value : otherwise;
}

void describe_uuid(const kvet_cuda_uuid& uuid, DeviceFacts& facts) {
  for (const unsigned char byte : uuid.bytes) {
    facts.uuid_hex += fmt::format("{:02x}", byte);
  }
  const std::string& h = facts.uuid_hex;
  facts.uuid = "GPU-" + h.substr(0, 8) + "-" + h.substr(8, 4) + "-" + h.substr(12, 4) + "-" + h.substr(16, 4) + "-" +
               h.substr(20);
}

Result<DeviceFacts> read_facts(const Driver& driver, int ordinal, int device) {
  DeviceFacts facts;
  facts.ordinal = ordinal;
  char name[256] = {};
  kvet_cuda_uuid uuid{};
  int result = driver.device_get_name(name, sizeof name - 1, device);
  if (result == KVET_CUDA_SUCCESS) {
    result = driver.device_get_uuid(&uuid, device);
  }
  if (result != KVET_CUDA_SUCCESS) {
    return fail(ErrorKind::unavailable, "the GPU does not say what it is: " + driver.describe(result),
                fmt::format("GPU {}", ordinal));
  }
  facts.name = name;
  describe_uuid(uuid, facts);
  const auto ask = [&](int which) { return static_cast<uint64_t>(std::max(0, attribute(driver, which, device, 0))); };
  facts.capability_major = static_cast<int>(ask(KVET_CUDA_COMPUTE_MAJOR));
  facts.capability_minor = static_cast<int>(ask(KVET_CUDA_COMPUTE_MINOR));
  facts.multiprocessors = static_cast<uint32_t>(ask(KVET_CUDA_MULTIPROCESSORS));
  facts.l2_bytes = ask(KVET_CUDA_L2_BYTES);
  // Two transfers per clock (CUDA C++ Best Practices Guide, "Theoretical Bandwidth Calculation"); the clock is in kHz.
  facts.peak_dram_bytes_per_second = 2 * ask(KVET_CUDA_MEMORY_CLOCK_KHZ) * 1000 * (ask(KVET_CUDA_MEMORY_BUS_BITS) / 8);
  return facts;
}

Result<int> find_device(const Driver& driver, const DeviceChoice& choice, DeviceFacts& facts) {
  const auto count = device_count(driver);
  if (!count) {
    return std::unexpected(count.error());
  }
  const std::string wanted = uuid_digits(choice.uuid);
  if (choice.number < 0 && wanted.empty()) {
    return fail(ErrorKind::usage, "this is not the UUID of a GPU", choice.uuid, "nvidia-smi -L lists them");
  }
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    if (choice.number >= 0 && ordinal != choice.number) {
      continue;
    }
    int device = 0;
    if (driver.device_get(&device, ordinal) != KVET_CUDA_SUCCESS) {
      continue;
    }
    auto read = read_facts(driver, ordinal, device);
    if (!read) {
      return std::unexpected(read.error());
    }
    if (choice.number >= 0 || read->uuid_hex == wanted) {
      facts = std::move(*read);
      return device;
    }
  }
  return fail(ErrorKind::unavailable, fmt::format("CUDA shows no such GPU among its {}", *count),
              choice.number >= 0 ? fmt::format("GPU {}", choice.number) : choice.uuid,
              "CUDA_VISIBLE_DEVICES may hide it; under MIG the GPU itself cannot be used");
}

Result<void> check_usable(const Driver& driver, int device, const DeviceFacts& facts) {
  // A MIG slice calls itself so: "NVIDIA H200 MIG 1g.18gb". Its memory and multiprocessors are not the GPU's.
  if (facts.name.find(" MIG ") != std::string::npos) {
    return fail(ErrorKind::unavailable, "this is a MIG slice, not a whole GPU", facts.name,
                "Turn MIG off (nvidia-smi -mig 0), or choose a GPU without it");
  }
  if (facts.capability_major < 7) {
    return fail(
        ErrorKind::unavailable,
        fmt::format("its compute capability {}.{} is below 7.0", facts.capability_major, facts.capability_minor),
        facts.name, "kvet's own kernels need Volta or later");
  }
  const int mode = attribute(driver, KVET_CUDA_COMPUTE_MODE, device, KVET_CUDA_COMPUTE_MODE_DEFAULT);
  if (mode == KVET_CUDA_COMPUTE_MODE_PROHIBITED) {
    return fail(ErrorKind::unavailable, "its compute mode is \"prohibited\"", facts.name, "Run nvidia-smi -c DEFAULT");
  }
  return {};
}

}  // namespace

std::string uuid_digits(std::string_view text) {
  if (text.starts_with("GPU-")) {
    text.remove_prefix(4);
  }
  std::string digits;
  for (const char c : text) {
    if (c == '-') {
      continue;
    }
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) {
      return {};
    }
    digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return digits.size() == 32 ? digits : std::string();
}

Result<int> device_count(const Driver& driver) {
  if (const int result = driver.init(0); result != KVET_CUDA_SUCCESS) {
    return fail(ErrorKind::unavailable, "the NVIDIA driver cannot be used: " + driver.describe(result), {},
                "Run nvidia-smi; in a container, give it the GPU");
  }
  int count = 0;
  const int result = driver.device_get_count(&count);
  if (result != KVET_CUDA_SUCCESS || count <= 0) {
    return fail(ErrorKind::unavailable, "the NVIDIA driver shows no GPU", {},
                "Unset CUDA_VISIBLE_DEVICES, or give the container a GPU");
  }
  return count;
}

Result<DeviceFacts> look_up(const Driver& driver, const DeviceChoice& choice) {
  DeviceFacts facts;
  const auto device = find_device(driver, choice, facts);
  return device ? Result<DeviceFacts>(std::move(facts)) : std::unexpected(device.error());
}

Result<Context> Context::open(const Driver& driver, const DeviceChoice& choice) {
  auto state = std::make_shared<ContextState>();
  state->driver = driver;
  const auto device = find_device(driver, choice, state->device);
  if (!device) {
    return std::unexpected(device.error());
  }
  if (auto usable = check_usable(driver, *device, state->device); !usable) {
    return std::unexpected(usable.error());
  }
  // Blocking: a wait inside the driver sleeps instead of taking a CPU from the workload.
  const int result = driver.context_create(&state->context, KVET_CUDA_CONTEXT_SCHEDULE_BLOCKING_SYNC, *device);
  if (result != KVET_CUDA_SUCCESS) {
    state->context = nullptr;
    return refuse(*state, result, "no context can be made");
  }
  return Context(std::move(state));
}

const DeviceFacts& Context::device() const { return state_->device; }
const Driver& Context::driver() const { return state_->driver; }
bool Context::stuck() const { return state_->stuck; }

Result<MemoryAmounts> Context::memory() const {
  size_t free = 0, total = 0;
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.memory_get_info(&free, &total);
  }
  if (result != KVET_CUDA_SUCCESS) {
    return refuse(*state_, result, "free memory cannot be read");
  }
  return MemoryAmounts{free, total};
}

Result<Kernels> Context::load(const std::string& ptx) const {
  kvet_cuda_module_t module = nullptr;
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.module_load(&module, ptx.c_str());
  }
  if (result != KVET_CUDA_SUCCESS) {
    return refuse(*state_, result, "kvet's kernels cannot be compiled");
  }
  return Kernels(state_, module);
}

Result<Function> Kernels::function(const char* name) const {
  Function found;
  found.name = name;
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.module_get_function(&found.handle, handle_, name);
  }
  if (result != KVET_CUDA_SUCCESS) {
    return refuse(*state_, result, fmt::format("kernel {} is not in the module", name));
  }
  return found;
}

Result<DeviceBuffer> Context::allocate(size_t bytes) const {
  uint64_t address = 0;
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.memory_allocate(&address, bytes);
  }
  if (result != KVET_CUDA_SUCCESS) {
    return refuse(*state_, result, fmt::format("{} bytes of device memory cannot be had", bytes));
  }
  return DeviceBuffer(state_, address, bytes);
}

Result<MappedBuffer> Context::allocate_mapped(size_t bytes) const {
  void* memory = nullptr;
  uint64_t address = 0;
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.host_allocate(&memory, bytes,
                                          KVET_CUDA_HOST_ALLOCATE_PORTABLE | KVET_CUDA_HOST_ALLOCATE_DEVICE_MAPPED);
  }
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.host_get_device_pointer(&address, memory, 0);
    if (result != KVET_CUDA_SUCCESS) {
      state_->driver.host_free(memory);
    }
  }
  if (result != KVET_CUDA_SUCCESS) {
    return refuse(*state_, result, fmt::format("{} bytes of pinned host memory cannot be had", bytes));
  }
  std::memset(memory, 0, bytes);
  return MappedBuffer(state_, memory, address, bytes);
}

Result<Stream> Context::create_stream() const {
  kvet_cuda_stream_t stream = nullptr;
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.stream_create(&stream, KVET_CUDA_STREAM_NON_BLOCKING);
  }
  if (result != KVET_CUDA_SUCCESS) {
    return refuse(*state_, result, "no stream can be made");
  }
  return Stream(state_, stream);
}

Result<Event> Context::create_event() const {
  kvet_cuda_event_t event = nullptr;
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.event_create(&event, KVET_CUDA_EVENT_DEFAULT);
  }
  if (result != KVET_CUDA_SUCCESS) {
    return refuse(*state_, result, "no event can be made");
  }
  return Event(state_, event);
}

Result<void> Context::launch_raw(const Stream& stream, const Function& function, LaunchShape shape,
                                 void** arguments) const {
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.launch(function.handle, shape.blocks, 1, 1, shape.threads, 1, 1, 0, stream.handle(),
                                   arguments, nullptr);
  }
  if (result != KVET_CUDA_SUCCESS) {
    return refuse(*state_, result, fmt::format("kernel {} cannot be launched", function.name));
  }
  return {};
}

Result<void> Context::record(const Event& event, const Stream& stream) const {
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.event_record(event.handle(), stream.handle());
  }
  if (result != KVET_CUDA_SUCCESS) {
    return refuse(*state_, result, "an event cannot be recorded");
  }
  return {};
}

Result<std::chrono::nanoseconds> Context::elapsed(const Event& from, const Event& to) const {
  float milliseconds = 0;
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.event_elapsed(&milliseconds, from.handle(), to.handle());
  }
  if (result != KVET_CUDA_SUCCESS) {
    return refuse(*state_, result, "the time between two events cannot be read");
  }
  return std::chrono::nanoseconds(static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6));
}

Result<bool> Context::is_done(const Stream& stream) const {
  int result = state_->enter();
  if (result == KVET_CUDA_SUCCESS) {
    result = state_->driver.stream_query(stream.handle());
  }
  if (result == KVET_CUDA_SUCCESS) {
    return true;
  }
  if (result == KVET_CUDA_ERROR_NOT_READY) {
    return false;
  }
  return refuse(*state_, result, "the GPU reports an error");
}

Result<void> Context::wait(const Stream& stream, std::chrono::nanoseconds limit) const {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto done = is_done(stream);
    if (!done) {
      return std::unexpected(done.error());
    }
    if (*done) {
      return {};
    }
    if (std::chrono::steady_clock::now() >= end) {
      state_->stuck = true;
      return fail(ErrorKind::unavailable,
                  fmt::format("its work did not end within {} ms",
                              std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()),
                  state_->device.name, "Another process may hold the GPU; nvidia-smi and dmesg show what it does");
    }
    constexpr timespec between_looks{0, 50'000};  // short beside any work that is worth waiting for
    ::nanosleep(&between_looks, nullptr);
  }
}

Stream::Stream(Stream&& other) noexcept
    : state_(std::move(other.state_)), handle_(std::exchange(other.handle_, nullptr)) {}
Stream::~Stream() {
  if (state_ != nullptr && handle_ != nullptr && state_->enter_to_free()) {
    state_->driver.stream_destroy(handle_);
  }
}

Event::Event(Event&& other) noexcept
    : state_(std::move(other.state_)), handle_(std::exchange(other.handle_, nullptr)) {}
Event::~Event() {
  if (state_ != nullptr && handle_ != nullptr && state_->enter_to_free()) {
    state_->driver.event_destroy(handle_);
  }
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : state_(std::move(other.state_)), address_(std::exchange(other.address_, 0)), bytes_(other.bytes_) {}
DeviceBuffer::~DeviceBuffer() {
  if (state_ != nullptr && address_ != 0 && state_->enter_to_free()) {
    state_->driver.memory_free(address_);
  }
}

MappedBuffer::MappedBuffer(MappedBuffer&& other) noexcept
    : state_(std::move(other.state_)),
      memory_(std::exchange(other.memory_, nullptr)),
      address_(other.address_),
      bytes_(other.bytes_) {}
MappedBuffer::~MappedBuffer() {
  if (state_ != nullptr && memory_ != nullptr && state_->enter_to_free()) {
    state_->driver.host_free(memory_);
  }
}

}  // namespace kvet::gpu_work
