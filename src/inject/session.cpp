#include "inject/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "abi/vendor/cupti_driver_callbacks.h"
#include "inject/clock.h"

namespace kvet::inject {
namespace {

constinit Session the_session;

// 4,096 buffers of 128 KiB: address space only, what is touched is what CUPTI has out at one time.
constexpr size_t buffer_limit_bytes = 512u << 20;

// Device memory that CUPTI may take for time stamps: 3.2 MB hold 100,000 kernels (CUPTI's documentation), and 16 such
// buffers 1.6 million that are in flight at once. CUPTI's own limit is 250 of them, 800 MB that the target may need.
constexpr size_t device_buffer_bytes = 3'200'000;
constexpr size_t device_buffer_limit = 16;

constexpr uint32_t kinds[] = {
    KVET_CUPTI_ACTIVITY_DEVICE, KVET_CUPTI_ACTIVITY_CONTEXT, KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL,
    KVET_CUPTI_ACTIVITY_MEMCPY, KVET_CUPTI_ACTIVITY_MEMCPY2, KVET_CUPTI_ACTIVITY_MEMSET,
    KVET_CUPTI_ACTIVITY_MARKER};

void sleep_ms(long milliseconds) {
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&time, nullptr);
}

// What CUPTI calls. Free functions, since a C interface carries no object.
uint64_t on_timestamp() { return monotonic_ns(); }
void on_buffer_requested(uint8_t** buffer, size_t* size, size_t* max_records) {
  the_session.collector.buffer_requested(buffer, size, max_records);
}
void on_buffer_completed(kvet_cuda_context_t, uint32_t, uint8_t* buffer, size_t, size_t valid_size) {
  the_session.collector.buffer_completed(buffer, valid_size);
}
void on_resource(void*, uint32_t domain, uint32_t callback_id, const void* data) {
  if (domain != KVET_CUPTI_DOMAIN_RESOURCE || callback_id != KVET_CUPTI_RESOURCE_MODULE_LOADED || data == nullptr) {
    return;
  }
  const auto* resource = static_cast<const kvet_cupti_resource_data*>(data);
  const auto* module = static_cast<const kvet_cupti_module_resource_data*>(resource->resource_descriptor);
  if (module != nullptr) {
    the_session.collector.hashes.add_image(module->cubin, module->cubin_size);
  }
}
void on_exit() { the_session.finish(); }
void on_fork_child() { the_session.become_forked_child(); }

// Somebody else uses CUPTI in this process, and it serves one at a time.
bool held_by_another(kvet_cupti_result result) {
  return result == KVET_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ||
         result == KVET_CUPTI_ERROR_MAX_LIMIT_REACHED || result == KVET_CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED;
}

}  // namespace

Session& session() { return the_session; }

void Session::set_status(kvet_inject_status status, uint32_t code) {
  kvet_table* table = collector.table.header();
  if (table != nullptr) {
    table->status_code = code;
    __atomic_store_n(&table->status, static_cast<uint32_t>(status), __ATOMIC_RELEASE);
  }
}

void Session::start() {
  Phase unborn = Phase::unborn;
  if (!phase_.compare_exchange_strong(unborn, Phase::starting)) {
    return;
  }
  pid_ = getpid();
  settings_ = read_settings();
  collector.discard = settings_.discard;
  collector.started_ns = monotonic_ns();
  collector.cupti = &cupti_;
  collector.owner = pid_;
  phase_ = Phase::idle;
  if (!create_table() || !collector.buffers.create(size_t{settings_.buffer_kib} << 10, buffer_limit_bytes)) {
    return;  // nobody can be told, and nothing was touched
  }
  wait_for_reader();
  const bool no_probe = !collector.emitter.has_reader();
  set_status(KVET_INJECT_NO_CUPTI, 0);
  const bool recording = visit_libraries(
      settings_.cupti_path, [](void* handle, void* self) { return static_cast<Session*>(self)->start_with(handle); },
      this);
  if (!recording) {
    say_that_nothing_will_come();
    return;
  }
  set_status(no_probe ? KVET_INJECT_NO_PROBE : KVET_INJECT_RECORDING, 0);
  phase_ = Phase::recording;
  atexit(on_exit);
  pthread_atfork(nullptr, nullptr, on_fork_child);
  const bool started = flush_thread_.start(
      turn_ms(), [](void* self, bool last) { return static_cast<Session*>(self)->flush_turn(last); }, this);
  if (!started && cupti_.flush_period != nullptr) {
    cupti_.flush_period(settings_.flush_ms);
  }
}

bool Session::create_table() {
  if (collector.ring.open(settings_.memory_descriptor, settings_.memory_path)) {
    uint64_t offset = 0;
    void* memory = collector.ring.table(&offset);
    if (memory == nullptr || !collector.table.adopt(memory, offset)) {
      return false;  // the recorder sees from `tables_used` that a process came too many
    }
    collector.emitter.use_memory_ring(&collector.ring);
    return true;
  }
  int error = 0;
  return collector.table.create(&error);
}

// True: recording. False: this library cannot serve; the status says why.
bool Session::start_with(void* handle) {
  const Lookup found = look_up(handle, &cupti_);
  collector.table.header()->cupti_version = cupti_.version;
  if (found == Lookup::too_old) {
    set_status(KVET_INJECT_CUPTI_TOO_OLD, cupti_.version);
    return false;
  }
  const kvet_cupti_result result = enable_everything();
  if (result == KVET_CUPTI_SUCCESS) {
    return true;
  }
  set_status(held_by_another(result) ? KVET_INJECT_CUPTI_HELD : KVET_INJECT_CUPTI_FAILED,
             static_cast<uint32_t>(result));
  return false;
}

kvet_cupti_result Session::enable_everything() {
  // First of all, as CUPTI's documentation asks: it fails where another profiler has CUPTI, before anything is changed.
  kvet_cupti_result result = cupti_.subscribe(&subscriber_, on_resource, nullptr);
  if (result != KVET_CUPTI_SUCCESS) {
    subscriber_ = nullptr;
    return result;
  }
  // Once, and before any kind is enabled: registered later or again it leaves records on two clocks.
  result = cupti_.register_timestamp_callback(on_timestamp);
  if (result == KVET_CUPTI_SUCCESS) {
    result = cupti_.set_thread_id_type(KVET_CUPTI_THREAD_ID_SYSTEM);
  }
  if (result == KVET_CUPTI_SUCCESS) {
    if (cupti_.set_attribute != nullptr) {  // limits are welcome, not needed
      size_t size = sizeof(size_t);
      size_t bytes = device_buffer_bytes;
      cupti_.set_attribute(KVET_CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE, &size, &bytes);
      size_t limit = device_buffer_limit;
      cupti_.set_attribute(KVET_CUPTI_ATTRIBUTE_DEVICE_BUFFER_POOL_LIMIT, &size, &limit);
    }
    result = cupti_.register_callbacks(on_buffer_requested, on_buffer_completed);
  }
  for (uint32_t kind : kinds) {
    if (result != KVET_CUPTI_SUCCESS) {
      break;
    }
    const kvet_cupti_result enabled = cupti_.enable(kind);
    if (kind == KVET_CUPTI_ACTIVITY_CONCURRENT_KERNEL || held_by_another(enabled)) {
      result = enabled;  // the others are not worth failing for
    }
  }
  if (result != KVET_CUPTI_SUCCESS) {
    disable_everything();
    return result;
  }
  enable_calls();
  // An older libcupti never says so, and one that only discards would leave what comes with each record.
  if (cupti_.version >= KVET_CUPTI_VERSION_COMMAND_BUFFER_FULL && !settings_.discard &&
      cupti_.enable(KVET_CUPTI_ACTIVITY_OVERHEAD) == KVET_CUPTI_SUCCESS) {
    collector.table.header()->queue_waits = 1;
  }
  if (settings_.code_hash && cupti_.enable_callback != nullptr) {
    cupti_.enable_callback(1, subscriber_, KVET_CUPTI_DOMAIN_RESOURCE, KVET_CUPTI_RESOURCE_MODULE_LOADED);
  }
  return KVET_CUPTI_SUCCESS;
}

// Driver calls of interest only: recording all of them costs several records per launch.
void Session::enable_calls() {
  bool any = false;
  if (cupti_.enable_driver_api != nullptr) {
    const auto enable = [&](uint32_t id, uint32_t kind) {
      if (kind != KVET_API_COPY_ASYNC || settings_.copy_calls) {
        any |= cupti_.enable_driver_api(id, 1) == KVET_CUPTI_SUCCESS;
      }
    };
#define KVET_ENABLE_CALL(name, id, kind) enable(id, kind);
    KVET_CUPTI_DRIVER_CALLBACKS(KVET_ENABLE_CALL)
#undef KVET_ENABLE_CALL
  }
  if (!any) {  // before CUDA 12.5: all or nothing; what is not of interest is dropped when it is unpacked
    all_driver_calls_ = cupti_.enable(KVET_CUPTI_ACTIVITY_DRIVER) == KVET_CUPTI_SUCCESS;
  }
}

void Session::disable_everything() {
  if (cupti_.enable_driver_api != nullptr) {
#define KVET_DISABLE_CALL(name, id, kind) cupti_.enable_driver_api(id, 0);
    KVET_CUPTI_DRIVER_CALLBACKS(KVET_DISABLE_CALL)
#undef KVET_DISABLE_CALL
  }
  for (uint32_t kind : kinds) {
    cupti_.disable(kind);
  }
  if (collector.table.header()->queue_waits != 0) {
    cupti_.disable(KVET_CUPTI_ACTIVITY_OVERHEAD);
  }
  if (all_driver_calls_) {
    cupti_.disable(KVET_CUPTI_ACTIVITY_DRIVER);
  }
  if (subscriber_ != nullptr && cupti_.unsubscribe != nullptr) {
    cupti_.unsubscribe(subscriber_);
    subscriber_ = nullptr;
  }
}

// Until the probe has a reader and the table is open: a process that ends soon would take its names with it.
void Session::wait_for_reader() {
  if (collector.ring.is_open()) {
    return;  // the memory file keeps both
  }
  const kvet_table* table = collector.table.header();
  for (; waited_ms_ < settings_.wait_ms; ++waited_ms_) {
    if (collector.emitter.has_reader() && __atomic_load_n(&table->recorder_pid, __ATOMIC_ACQUIRE) != 0) {
      return;
    }
    sleep_ms(1);
  }
}

// The recorder then takes this process's launches from its own probes, and needs a moment to place them. What is left of
// the one wait at start-up, and no more.
void Session::say_that_nothing_will_come() {
  kvet_table* table = collector.table.header();
  __atomic_store_n(&table->finished, 1, __ATOMIC_RELEASE);
  if (collector.ring.is_open()) {
    return;
  }
  for (; waited_ms_ < settings_.wait_ms; ++waited_ms_) {
    if ((__atomic_load_n(&table->recorder_pid, __ATOMIC_ACQUIRE) & KVET_TABLE_ACKNOWLEDGED) != 0) {
      return;
    }
    sleep_ms(1);
  }
}

// Why we ask at all: CUPTI's flush period returns full buffers only, and at 100 launches a second a buffer takes seconds to
// fill. A process that is killed would lose them.
uint32_t Session::flush_turn(bool last) {
  if (given_up_) {
    return 0;
  }
  if (last) {
    cupti_.flush_all(KVET_CUPTI_FLUSH_FORCED);
    if (!flush_thread_.abandoned()) {
      collector.collect();
    }
    return 0;
  }
  // While buffers come back by themselves there is nothing to ask for, except now and then for threads that are slow.
  constexpr uint32_t at_least_every = 10;
  const uint64_t completed = collector.completed_buffers();
  const bool asking = settings_.flush_ms != 0;
  if (asking && (completed == completed_before_ || ++turns_skipped_ >= at_least_every)) {
    const uint64_t asked_ns = monotonic_ns();
    cupti_.flush_all(0);
    turns_skipped_ = 0;
    __atomic_store_n(&collector.table.header()->flushed_ns, asked_ns, __ATOMIC_RELEASE);
  }
  completed_before_ = collector.completed_buffers();
  if (flush_thread_.abandoned()) {
    return 0;
  }
  collector.collect();  // losses, for a reader that came late
  kvet_table* table = collector.table.header();
  if (table->status == KVET_INJECT_NO_PROBE && collector.emitter.has_reader()) {
    set_status(KVET_INJECT_RECORDING, 0);
  }
  constexpr uint64_t ns_per_ms = 1'000'000, second_ns = 1000 * ns_per_ms;
  const uint64_t turn_ns = 2 * turn_ms() * ns_per_ms;
  if (reader_watch_.is_gone(collector.emitter.is_being_read(), monotonic_ns(), settings_.reader_patience_ms * ns_per_ms,
                            turn_ns > second_ns ? turn_ns : second_ns)) {
    give_up();
    return 0;
  }
  return turn_ms();
}

// The recorder is gone and will not come back: the target gets its speed back. Not by cuptiFinalize, which crashes when it
// races with API calls.
void Session::give_up() {
  given_up_ = true;
  disable_everything();
  if (!flush_thread_.abandoned()) {
    cupti_.flush_all(0);  // CUPTI gives its buffers back
  }
  if (!flush_thread_.abandoned()) {
    collector.collect();
    set_status(KVET_INJECT_READER_GONE, 0);
  }
}

void Session::finish() {
  // A child of vfork or of a bare clone shares or copies this state without having passed the fork handler.
  if (getpid() != pid_) {
    return;
  }
  Phase recording = Phase::recording;
  if (!phase_.compare_exchange_strong(recording, Phase::finished)) {
    return;
  }
  // This thread may be anywhere: in a signal handler that interrupted CUPTI, with CUPTI's locks in its hands. It calls no
  // function of CUPTI from here on.
  constexpr uint32_t patience_ms = 2000;
  if (!flush_thread_.finish(patience_ms)) {
    // How much CUPTI still holds cannot be asked.
    collector.losses.count(KVET_LOSS_CUPTI_DROPPED, 1, monotonic_ns());
  }
  collector.finish();
}

void Session::become_forked_child() {
  if (phase_.load() != Phase::recording) {
    return;
  }
  phase_ = Phase::forked;
  // The parent's table is not mapped here (MADV_DONTFORK). One of the child's own says why nothing will come from it: a
  // header and no entries. Plain system calls only, as a fork handler must. In the memory-file tier tables are few.
  if (collector.ring.is_open()) {
    return;
  }
  TableWriter own;
  int error = 0;
  if (own.create(&error)) {
    own.header()->generation = 2;
    own.header()->status = KVET_INJECT_FORKED;
    own.header()->finished = 1;
  }
}

int Session::start_nvtx(void* get_export_table) {
  struct Attempt {
    void* get_export_table;
    int result;
  } attempt{get_export_table, 0};
  visit_libraries(
      getenv("KVET_CUPTI_PATH"),
      [](void* handle, void* data) {
        auto* wanted = static_cast<Attempt*>(data);
        auto initialize = reinterpret_cast<kvet_cupti_nvtx_initialize2>(symbol(handle, "cuptiNvtxInitialize2"));
        if (initialize == nullptr) {
          return false;
        }
        // CUPTI answers 0 for success, as all of it does; NVTX takes 0 for failure and drops every range from then on.
        wanted->result = initialize(wanted->get_export_table) == KVET_CUPTI_SUCCESS ? 1 : 0;
        return true;
      },
      &attempt);
  return attempt.result;
}

}  // namespace kvet::inject
