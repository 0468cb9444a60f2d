// kvet's own small work on one GPU: a context, memory, kernels from PTX text, and a wait that ends.
//
//   auto driver = load_driver();                            // gpu_work/driver.h
//   auto context = Context::open(*driver, DeviceChoice::ordinal(0));
//   auto kernels = context->load(kernel_text());            // gpu_work/kernels.h
//   auto pulse = kernels->function("kvet_pulse");
//   auto records = context->allocate_mapped(blocks * sizeof(PulseRecord));
//   auto stream = context->create_stream();
//   context->launch(*stream, *pulse, {.blocks = blocks, .threads = 32}, records->device_address(), duration_ns);
//   context->wait(*stream, limit);
//
// Everything here keeps the context alive and may be destroyed in any order. Work that does not end within its limit makes
// the context "stuck": from then on nothing is freed, because freeing would wait for the GPU; the end of the process does it.
// One thread at a time per context; any thread may be that one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gpu_work/driver.h"

namespace kvet::gpu_work {

struct ContextState;  // what all objects of one context share

// Which GPU: by CUDA's own ordinal (CUDA_VISIBLE_DEVICES counts), or by UUID as NVML writes it ("GPU-0123…", the dashes and
// the prefix may be missing).
struct DeviceChoice {
  static DeviceChoice ordinal(int number) { return {number, {}}; }
  static DeviceChoice with_uuid(std::string text) { return {-1, std::move(text)}; }
  int number = 0;
  std::string uuid;
};

struct DeviceFacts {
  int ordinal = 0;
  std::string name;
  std::string uuid;  // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
  std::string uuid_hex;  // the same 16 bytes as 32 lower-case digits
  int capability_major = 0, capability_minor = 0;
  uint32_t multiprocessors = 0;
  uint64_t l2_bytes = 0;
  uint64_t peak_dram_bytes_per_second = 0;  // 2 × memory clock × bus width; 0 where the driver does not say
};

// Both initialise the driver, and make no context.
Result<int> device_count(const Driver& driver);
Result<DeviceFacts> look_up(const Driver& driver, const DeviceChoice& choice);

struct MemoryAmounts {
  uint64_t free_bytes = 0, total_bytes = 0;
};

class Stream {
 public:
  [[nodiscard]] kvet_cuda_stream_t handle() const { return handle_; }
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&&) = delete;
  ~Stream();

 private:
  friend class Context;
  Stream(std::shared_ptr<ContextState> state, kvet_cuda_stream_t handle) : state_(std::move(state)), handle_(handle) {}
  std::shared_ptr<ContextState> state_;
  kvet_cuda_stream_t handle_ = nullptr;
};

class Event {
 public:
  [[nodiscard]] kvet_cuda_event_t handle() const { return handle_; }
  Event(Event&& other) noexcept;
  Event& operator=(Event&&) = delete;
  ~Event();

 private:
  friend class Context;
  Event(std::shared_ptr<ContextState> state, kvet_cuda_event_t handle) : state_(std::move(state)), handle_(handle) {}
  std::shared_ptr<ContextState> state_;
  kvet_cuda_event_t handle_ = nullptr;
};

// Device memory; content undefined.
class DeviceBuffer {
 public:
  [[nodiscard]] uint64_t device_address() const { return address_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer();

 private:
  friend class Context;
  DeviceBuffer(std::shared_ptr<ContextState> state, uint64_t address, size_t bytes)
      : state_(std::move(state)), address_(address), bytes_(bytes) {}
  std::shared_ptr<ContextState> state_;
  uint64_t address_ = 0;
  size_t bytes_ = 0;
};

// Pinned host memory that kernels see as well, zeroed. What a kernel writes is visible here once its stream is done; sooner
// where the kernel stores with .sys scope (and the host reads it through std::atomic_ref or volatile).
class MappedBuffer {
 public:
  [[nodiscard]] uint64_t device_address() const { return address_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  template <class Record>
  [[nodiscard]] std::span<Record> as() const {
    return {static_cast<Record*>(memory_), bytes_ / sizeof(Record)};
  }
  MappedBuffer(MappedBuffer&& other) noexcept;
  MappedBuffer& operator=(MappedBuffer&&) = delete;
  ~MappedBuffer();

 private:
  friend class Context;
  MappedBuffer(std::shared_ptr<ContextState> state, void* memory, uint64_t address, size_t bytes)
      : state_(std::move(state)), memory_(memory), address_(address), bytes_(bytes) {}
  std::shared_ptr<ContextState> state_;
  void* memory_ = nullptr;
  uint64_t address_ = 0;
  size_t bytes_ = 0;
};

struct Function {
  kvet_cuda_function_t handle = nullptr;
  std::string name;
};

// Loaded PTX; stays loaded as long as the context.
class Kernels {
 public:
  [[nodiscard]] Result<Function> function(const char* name) const;

 private:
  friend class Context;
  Kernels(std::shared_ptr<ContextState> state, kvet_cuda_module_t handle) : state_(std::move(state)), handle_(handle) {}
  std::shared_ptr<ContextState> state_;
  kvet_cuda_module_t handle_ = nullptr;
};

struct LaunchShape {
  uint32_t blocks = 1;
  uint32_t threads = 32;  // per block
};

class Context {
 public:
  // A context of its own on that GPU, destroyed with the last object that came from it. Refuses, with what to do, where the GPU
  // is not there, prohibited or held by another process in exclusive mode, too full for a context, or a slice of MIG.
  // The caller sees to CUDA_INJECTION64_PATH: the driver loads what it names into this process.
  static Result<Context> open(const Driver& driver, const DeviceChoice& choice);

  [[nodiscard]] const DeviceFacts& device() const;
  [[nodiscard]] const Driver& driver() const;
  [[nodiscard]] Result<MemoryAmounts> memory() const;

  // PTX text, compiled by the driver for this GPU.
  [[nodiscard]] Result<Kernels> load(const std::string& ptx) const;
  [[nodiscard]] Result<DeviceBuffer> allocate(size_t bytes) const;
  [[nodiscard]] Result<MappedBuffer> allocate_mapped(size_t bytes) const;
  [[nodiscard]] Result<Stream> create_stream() const;  // does not wait for the null stream
  [[nodiscard]] Result<Event> create_event() const;  // with a time

  // Each argument must have the size of its .param in the PTX text: pass uint64_t and uint32_t.
  template <class... Arguments>
  [[nodiscard]] Result<void> launch(const Stream& stream, const Function& function, LaunchShape shape,
                                    Arguments... arguments) const {
    void* addresses[] = {static_cast<void*>(&arguments)..., nullptr};
    return launch_raw(stream, function, shape, addresses);
  }
  [[nodiscard]] Result<void> record(const Event& event, const Stream& stream) const;
  // Time between two events that are done.
  [[nodiscard]] Result<std::chrono::nanoseconds> elapsed(const Event& from, const Event& to) const;

  // Is all of the stream's work done? An error where the GPU reports one.
  [[nodiscard]] Result<bool> is_done(const Stream& stream) const;
  // Returns once it is, or fails after `limit`: then the context is stuck.
  [[nodiscard]] Result<void> wait(const Stream& stream, std::chrono::nanoseconds limit) const;
  [[nodiscard]] bool stuck() const;

 private:
  explicit Context(std::shared_ptr<ContextState> state) : state_(std::move(state)) {}
  [[nodiscard]] Result<void> launch_raw(const Stream& stream, const Function& function, LaunchShape shape,
                                        void** arguments) const;
  std::shared_ptr<ContextState> state_;
};

// "GPU-0123…" or bare digits → 32 lower-case hexadecimal digits; empty where the text is no UUID.
std::string uuid_digits(std::string_view text);

}  // namespace kvet::gpu_work
