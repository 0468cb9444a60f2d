// A driver for tests of one process: a GPU that is as fast as the test says, and refuses what it is told to refuse. It does no
// work, but checks that every kernel stays inside the memory that was allocated, and takes the time that its bytes take.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gpu_work/driver.h"
#include "gpu_work/kernels.h"

namespace kvet::gpu_work {

struct FakeGpu {
  // What the test sets.
  std::string name = "Fake GPU";
  int init_result = 0, context_result = 0, module_result = 0, allocate_result = 0, launch_result = 0, query_result = 0;
  int devices = 1, compute_mode = 0, capability_major = 9, multiprocessors = 100, l2_bytes = 50 << 20;
  size_t free_bytes = size_t{100} << 30;
  std::map<std::string, double> bytes_per_ns;  // of each kernel
  std::vector<double> slower;  // each launch in turn takes so many times as long; then 1
  bool stamps = true, hangs = false;
  double stamp_rate = 1;  // the GPU's timer against its events

  // What the test looks at.
  int contexts = 0, allocations = 0, streams = 0, events = 0, launches = 0;  // those that are there; launches: all
  std::string image;
  std::vector<std::string> faults;  // a kernel that would have left its memory

  double now_ns = 1000;  // the GPU's time
  std::map<uint64_t, size_t> memory;
  std::map<std::string, char> functions;
  std::map<char*, double> event_times;
};
inline FakeGpu* fake = nullptr;  // of the running test

inline uint64_t fake_argument(void** arguments, int number) {
  uint64_t value = 0;
  std::memcpy(&value, arguments[number], sizeof value);
  return value;
}

inline void fake_touch(const std::string& kernel, uint64_t address, uint64_t bytes) {
  for (const auto& [begin, size] : fake->memory) {
    if (address >= begin && address + bytes <= begin + size) {
      return;
    }
  }
  fake->faults.push_back(kernel + " leaves its memory");
}

// The bytes that a launch moves, from kernels.h: 16 per vector and direction, 32 per random access.
inline double fake_bytes(const std::string& kernel, void** arguments) {
  const auto argument = [&](int number) { return fake_argument(arguments, number); };
  const auto product = [](uint64_t a, uint64_t b) { return static_cast<double>(a) * static_cast<double>(b); };
  if (kernel == "kvet_dram_read" || kernel == "kvet_dram_write") {
    fake_touch(kernel, argument(1), 16 * argument(2));
    return 16 * product(argument(2), argument(3));
  }
  if (kernel == "kvet_dram_copy") {
    fake_touch(kernel, argument(1), 16 * argument(3));
    fake_touch(kernel, argument(2), 16 * argument(3));
    return 32 * product(argument(3), argument(4));
  }
  if (kernel == "kvet_dram_two_to_one") {
    for (int buffer = 1; buffer <= 3; ++buffer) {
      fake_touch(kernel, argument(buffer), 16 * argument(4));
    }
    return 48 * product(argument(4), argument(5));
  }
  if (kernel == "kvet_dram_random") {
    fake_touch(kernel, argument(1), 32 * argument(2));
    return 32 * product(argument(3), 1);
  }
  return 0;
}

inline int fake_launch(kvet_cuda_function_t function, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, kvet_cuda_stream_t, void** arguments, void**) {
  if (fake->launch_result != 0) {
    return fake->launch_result;
  }
  std::string kernel;
  for (auto& [name, place] : fake->functions) {
    if (reinterpret_cast<char*>(function) == &place) {
      kernel = name;
    }
  }
  double duration = fake_bytes(kernel, arguments) / fake->bytes_per_ns.at(kernel);
  const auto number = static_cast<size_t>(fake->launches++);
  duration *= number < fake->slower.size() ? fake->slower[number] : 1;
  auto* records = reinterpret_cast<PulseRecord*>(fake_argument(arguments, 0));
  for (unsigned block = 0; fake->stamps && block < blocks; ++block) {
    records[block].entry_ns = static_cast<uint64_t>(fake->now_ns);
    records[block].exit_ns = static_cast<uint64_t>(fake->now_ns + duration / fake->stamp_rate);
  }
  fake->now_ns += duration;
  return 0;
}

inline int fake_attribute(int* value, int attribute, int) {
  switch (attribute) {
    case KVET_CUDA_MULTIPROCESSORS: *value = fake->multiprocessors; return 0;
    case KVET_CUDA_COMPUTE_MODE: *value = fake->compute_mode; return 0;
    case KVET_CUDA_MEMORY_CLOCK_KHZ: *value = 2'500'000; return 0;
    case KVET_CUDA_MEMORY_BUS_BITS: *value = 4096; return 0;
    case KVET_CUDA_L2_BYTES: *value = fake->l2_bytes; return 0;
    case KVET_CUDA_COMPUTE_MAJOR: *value = fake->capability_major; return 0;
    case KVET_CUDA_COMPUTE_MINOR: *value = 0; return 0;
    default: return 1;
  }
}

inline Driver fake_driver() {
  Driver driver;
  driver.init = [](unsigned) { return fake->init_result; };
  driver.get_error_string = [](int, const char** text) {
    *text = "planted";
    return 0;
  };
  driver.device_get_count = [](int* count) {
    *count = fake->devices;
    return 0;
  };
  driver.device_get = [](int* device, int ordinal) {
    *device = ordinal;
    return 0;
  };
  driver.device_get_uuid = [](kvet_cuda_uuid* uuid, int device) {
    *uuid = {};
    uuid->bytes[0] = 0xAB;
    uuid->bytes[15] = static_cast<uint8_t>(device);
    return 0;
  };
  driver.device_get_name = [](char* name, int length, int) {
    std::strncpy(name, fake->name.c_str(), static_cast<size_t>(length));
    return 0;
  };
  driver.device_get_attribute = fake_attribute;
  driver.context_create = [](kvet_cuda_context_t* context, unsigned, int) {
    fake->contexts += fake->context_result == 0 ? 1 : 0;
    *context = reinterpret_cast<kvet_cuda_context_t>(fake);
    return fake->context_result;
  };
  driver.context_destroy = [](kvet_cuda_context_t) { return --fake->contexts, 0; };
  driver.context_set_current = [](kvet_cuda_context_t) { return 0; };
  driver.module_load = [](kvet_cuda_module_t* module, const void* image) {
    fake->image = static_cast<const char*>(image);
    *module = reinterpret_cast<kvet_cuda_module_t>(fake);
    return fake->module_result;
  };
  driver.module_get_function = [](kvet_cuda_function_t* function, kvet_cuda_module_t, const char* name) {
    if (fake->image.find(std::string(".entry ") + name + "(") == std::string::npos) {
      return 500;
    }
    *function = reinterpret_cast<kvet_cuda_function_t>(&fake->functions[name]);
    return 0;
  };
  driver.memory_get_info = [](size_t* free, size_t* total) {
    *free = *total = fake->free_bytes;
    return 0;
  };
  driver.memory_allocate = [](uint64_t* address, size_t bytes) {
    if (fake->allocate_result == 0) {
      *address = uint64_t{1} << 40;
      fake->memory[*address] = bytes;
      ++fake->allocations;
    }
    return fake->allocate_result;
  };
  driver.memory_free = [](uint64_t) { return --fake->allocations, 0; };
  driver.host_allocate = [](void** memory, size_t bytes, unsigned) {
    *memory = std::malloc(bytes);
    ++fake->allocations;
    return 0;
  };
  driver.host_free = [](void* memory) {
    std::free(memory);
    return --fake->allocations, 0;
  };
  driver.host_get_device_pointer = [](uint64_t* address, void* memory, unsigned) {
    *address = reinterpret_cast<uint64_t>(memory);
    return 0;
  };
  driver.stream_create = [](kvet_cuda_stream_t* stream, unsigned) {
    *stream = reinterpret_cast<kvet_cuda_stream_t>(fake);
    return ++fake->streams, 0;
  };
  driver.stream_destroy = [](kvet_cuda_stream_t) { return --fake->streams, 0; };
  driver.stream_query = [](kvet_cuda_stream_t) { return fake->hangs ? 600 : fake->query_result; };
  driver.event_create = [](kvet_cuda_event_t* event, unsigned) {
    *event = reinterpret_cast<kvet_cuda_event_t>(new char);
    return ++fake->events, 0;
  };
  driver.event_destroy = [](kvet_cuda_event_t event) {
    delete reinterpret_cast<char*>(event);
    return --fake->events, 0;
  };
  driver.event_record = [](kvet_cuda_event_t event, kvet_cuda_stream_t) {
    fake->event_times[reinterpret_cast<char*>(event)] = fake->now_ns;
    return 0;
  };
  driver.event_elapsed = [](float* milliseconds, kvet_cuda_event_t from, kvet_cuda_event_t to) {
    const double ns =
        fake->event_times.at(reinterpret_cast<char*>(to)) - fake->event_times.at(reinterpret_cast<char*>(from));
    *milliseconds = static_cast<float>(ns / 1e6);
    return 0;
  };
  driver.launch = fake_launch;
  return driver;
}

}  // namespace kvet::gpu_work
