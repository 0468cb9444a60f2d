#include "import/kineto_file.h"

#include <fmt/core.h>

#include "import/decimal.h"

namespace kvet::importing {
namespace {

// More than any machine has; each costs work in every question.
constexpr size_t most_devices = 1024;
constexpr size_t longest_fact_bytes = 1024;  // names and versions are some dozens

struct Refused {
  Error error;
};

class TraceReader {
 public:
  TraceReader(ByteSource& source, const std::function<Result<void>(const KinetoEvent&)>& on_event)
      : reader_(source), on_event_(on_event) {}
  KinetoFacts read();

 private:
  void events();
  void devices();
  void device();
  void distributed();
  template <class T>
  void number(T& into);
  void text(std::string& into);

  JsonReader reader_;
  const std::function<Result<void>(const KinetoEvent&)>& on_event_;
  KinetoFacts facts_;
};

template <class T>
void TraceReader::number(T& into) {
  if (const auto digits = reader_.number_if()) {
    into = whole<uint64_t>(*digits).value_or(0) <= std::numeric_limits<T>::max()
               ? static_cast<T>(whole<uint64_t>(*digits).value_or(0))
               : T{0};
  }
}

// A version stands as a text or as a number.
void TraceReader::text(std::string& into) {
  const char next = reader_.peek();
  if (next == '"') {
    into = reader_.string().substr(0, longest_fact_bytes);
  } else if (const auto digits = reader_.number_if()) {
    into = digits->substr(0, longest_fact_bytes);
  }
}

void TraceReader::events() {
  if (facts_.has_events) {
    reader_.fail("there is a second \"traceEvents\"");
  }
  facts_.has_events = true;
  KinetoEvent event;
  for (reader_.open_array(); reader_.next_element();) {
    if (!read_event(reader_, event)) {
      ++facts_.skipped;
      continue;
    }
    ++facts_.kept;
    facts_.kernels += event.category == KinetoCategory::kernel ? 1 : 0;
    facts_.transfers += event.category == KinetoCategory::copy || event.category == KinetoCategory::memset ? 1 : 0;
    if (auto taken = on_event_(event); !taken) {
      throw Refused{std::move(taken.error())};
    }
  }
}

void TraceReader::device() {
  if (reader_.peek() != '{') {
    reader_.skip_value();
    return;
  }
  KinetoDevice device;
  std::string_view key;
  for (reader_.open_object(); reader_.next_key(key);) {
    if (key == "id") {
      number(device.ordinal);
    } else if (key == "name") {
      text(device.name);
    } else if (key == "totalGlobalMem") {
      number(device.memory_bytes);
    } else if (key == "computeMajor") {
      number(device.compute_major);
    } else if (key == "computeMinor") {
      number(device.compute_minor);
    } else if (key == "numSms") {
      number(device.multiprocessors);
    } else if (key == "maxThreadsPerMultiprocessor") {
      number(device.threads_per_multiprocessor);
    } else if (key == "warpSize") {
      number(device.warp_size);
    } else if (key == "regsPerMultiprocessor") {
      number(device.registers_per_multiprocessor);
    } else if (key == "sharedMemPerMultiprocessor" || key == "maxSharedMemoryPerMultiProcessor") {
      number(device.shared_bytes_per_multiprocessor);
    } else if (key == "sharedMemPerBlockOptin") {
      number(device.shared_bytes_per_block);
    } else {
      reader_.skip_value();
    }
  }
  if (facts_.devices.size() == most_devices) {
    throw JsonValueFault(fmt::format("there are more than {} devices", most_devices), reader_.position());
  }
  facts_.devices.push_back(std::move(device));
}

void TraceReader::devices() {
  if (reader_.peek() != '[') {
    reader_.skip_value();
    return;
  }
  for (reader_.open_array(); reader_.next_element();) {
    device();
  }
}

void TraceReader::distributed() {
  if (reader_.peek() != '{') {
    reader_.skip_value();
    return;
  }
  std::string_view key;
  for (reader_.open_object(); reader_.next_key(key);) {
    if (key == "rank" || key == "world_size") {
      auto& into = key == "rank" ? facts_.rank : facts_.ranks;
      const auto digits = reader_.number_if();
      into = digits ? whole<int64_t>(*digits) : std::nullopt;
    } else if (key == "nccl_version") {
      text(facts_.nccl_version);
    } else {
      reader_.skip_value();
    }
  }
}

KinetoFacts TraceReader::read() {
  if (reader_.peek() == '[') {  // Chrome's other form: the events alone
    events();
    reader_.end();
    return std::move(facts_);
  }
  std::string_view key;
  for (reader_.open_object(); reader_.next_key(key);) {
    if (key == "traceEvents") {
      events();
    } else if (key == "baseTimeNanoseconds") {
      const auto digits = reader_.number_if();
      facts_.base_ns = digits ? scaled(*digits, 0) : std::nullopt;
    } else if (key == "deviceProperties") {
      devices();
    } else if (key == "distributedInfo") {
      distributed();
    } else if (key == "schemaVersion") {
      text(facts_.schema_version);
    } else if (key == "traceName") {
      text(facts_.trace_name);
    } else if (key == "cuda_driver_version") {
      text(facts_.cuda_driver_version);
    } else if (key == "cuda_runtime_version") {
      text(facts_.cuda_runtime_version);
    } else if (key == "cupti_version") {
      text(facts_.cupti_version);
    } else {
      facts_.amd = facts_.amd || key.starts_with("roctracer") || key.starts_with("hip_");
      reader_.skip_value();
    }
  }
  reader_.end();
  return std::move(facts_);
}

}  // namespace

Result<KinetoFacts> read_trace(ByteSource& source, const std::string& name,
                               const std::function<Result<void>(const KinetoEvent&)>& on_event) {
  try {
    return TraceReader(source, on_event).read();
  } catch (const JsonValueFault& fault) {
    return fail(
        ErrorKind::bad_input,
        fmt::format("holds what no trace of the PyTorch profiler does: {}, at byte {}", fault.what(), fault.position),
        name, "Profile again, or mend what stands there");
  } catch (const JsonFault& fault) {
    return fail(ErrorKind::bad_input,
                fmt::format("is not a whole PyTorch profiler trace: {}, at byte {}", fault.what(), fault.position),
                name, "Let the profiler finish writing it (`export_chrome_trace`), or copy it again");
  } catch (const SourceFault& fault) {
    return std::unexpected(fault.error);
  } catch (const Refused& refused) {
    return std::unexpected(refused.error);
  }
}

}  // namespace kvet::importing
