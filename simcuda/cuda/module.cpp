#include "cuda/module.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace simcuda::driver {
namespace {

std::string_view take_word(std::string_view& text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  size_t end = std::min(text.find_first_of(" \t\r(", begin), text.size());
  std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

Function& find_or_add(Module& module, std::string_view name) {
  for (const auto& function : module.functions) {
    if (function->name == name) {
      return *function;
    }
  }
  module.functions.push_back(std::make_unique<Function>());
  module.functions.back()->name = name;
  return *module.functions.back();
}

void set(Function& function, std::string_view setting) {
  size_t equals = setting.find('=');
  std::string_view key = setting.substr(0, equals);
  double value =
      equals == std::string_view::npos ? 0 : std::strtod(std::string(setting.substr(equals + 1)).c_str(), nullptr);
  if (key == "registers") {
    function.registers = static_cast<uint32_t>(value);
  } else if (key == "shared") {
    function.static_shared_bytes = static_cast<uint32_t>(value);
  } else if (key == "local") {
    function.local_bytes = static_cast<uint32_t>(value);
  } else if (key == "block_ns") {
    function.block_ns = value;
  } else if (key == "read") {
    function.read_bytes = value;
  } else if (key == "write") {
    function.write_bytes = value;
  } else if (key == "instructions") {
    function.instructions = value;
  } else if (key == "argument_ns") {
    function.argument_ns = static_cast<int>(value);
  } else if (key == "records") {
    function.records = static_cast<int>(value);
  } else if (key == "handshake") {
    function.handshake = static_cast<int>(value);
  } else if (key == "work") {
    function.work[0] = static_cast<int>(value);
    size_t comma = setting.find(',');
    if (comma != std::string_view::npos) {
      function.work[1] = std::atoi(std::string(setting.substr(comma + 1)).c_str());
    }
  } else if (key == "collective") {
    function.is_collective = true;
  }
}

}  // namespace

std::unique_ptr<Module> parse_module(std::string_view text) {
  auto module = std::make_unique<Module>();
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string_view word = take_word(line);
    if (word == "//simcuda") {
      std::string_view name = take_word(line);
      if (name.empty()) {
        continue;
      }
      Function& function = find_or_add(*module, name);
      for (std::string_view setting = take_word(line); !setting.empty(); setting = take_word(line)) {
        set(function, setting);
      }
    } else if (word == ".visible" || word == ".entry") {
      if (word == ".visible" && take_word(line) != ".entry") {
        continue;
      }
      std::string_view name = take_word(line);
      if (!name.empty()) {
        find_or_add(*module, name);
      }
    }
  }
  return module->functions.empty() ? nullptr : std::move(module);
}

SIMCUDA_API int cuModuleLoadData(void** module, const void* image) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (module == nullptr || image == nullptr) {
    return error_invalid_value;
  }
  std::unique_ptr<Module> parsed = parse_module(static_cast<const char*>(image));
  if (parsed == nullptr) {
    return error_invalid_image;
  }
  std::lock_guard guard(driver().mutex);
  *module = parsed.get();
  driver().modules.push_back(std::move(parsed));
  notify_module(*driver().modules.back());
  return success;
}

// Functions stay valid: an execution that has not been told to observers yet refers to its function's name.
SIMCUDA_API int cuModuleUnload(void* module) { return module == nullptr ? error_invalid_handle : usable(); }

SIMCUDA_API int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (Result state = usable(); state != success) {
    return state;
  }
  if (function == nullptr || module == nullptr || name == nullptr) {
    return error_invalid_value;
  }
  for (const auto& known : static_cast<Module*>(module)->functions) {
    if (known->name == name) {
      *function = known.get();
      return success;
    }
  }
  return error_not_found;
}

SIMCUDA_API int cuFuncGetName(const char** name, void* function) {
  if (name == nullptr || function == nullptr) {
    return error_invalid_value;
  }
  *name = static_cast<Function*>(function)->name.c_str();
  return success;
}

SIMCUDA_API int cuFuncGetAttribute(int* value, int attribute, void* function) {
  if (value == nullptr || function == nullptr) {
    return error_invalid_value;
  }
  const auto& known = *static_cast<Function*>(function);
  enum {
    max_threads = 0,
    shared = 1,
    constant = 2,
    local = 3,
    registers = 4,
    ptx = 5,
    binary = 6,
    max_dynamic_shared = 8
  };
  switch (attribute) {  // CUfunction_attribute
    case max_threads: *value = threads_per_block; break;
    case shared: *value = static_cast<int>(known.static_shared_bytes); break;
    case constant: *value = 0; break;
    case local: *value = static_cast<int>(known.local_bytes); break;
    case registers: *value = static_cast<int>(known.registers); break;
    case ptx:
    case binary: *value = 90; break;
    case max_dynamic_shared: *value = static_cast<int>(shared_bytes_per_block - known.static_shared_bytes); break;
    default: return error_invalid_value;
  }
  return success;
}

// Dynamic shared memory is allowed up to the opt-in limit without asking.
SIMCUDA_API int cuFuncSetAttribute(void* function, int, int) {
  return function == nullptr ? error_invalid_handle : success;
}

SIMCUDA_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                            size_t dynamic_shared) {
  if (blocks == nullptr || function == nullptr || threads <= 0) {
    return error_invalid_value;
  }
  const auto& known = *static_cast<Function*>(function);
  *blocks = static_cast<int>(
      blocks_that_fit(block_resources(static_cast<uint32_t>(threads), known.registers, known.static_shared_bytes,
                                      static_cast<uint32_t>(dynamic_shared))));
  return success;
}

}  // namespace simcuda::driver
