#include "record/injection.h"

namespace kvet::record {

namespace {

constexpr const char* library_name = "libkvet_inject.so";
constexpr const char* cuda_variable = "CUDA_INJECTION64_PATH";
constexpr const char* nvtx_variable = "NVTX_INJECTION64_PATH";

bool is_ours(std::string_view path) {
  const size_t slash = path.rfind('/');
  return path.substr(slash == std::string_view::npos ? 0 : slash + 1) == library_name;
}

}  // namespace

std::optional<std::string> injection_taken(const Environment& environment) {
  const auto holder = variable(environment, cuda_variable);
  if (!holder || holder->empty()) {
    return std::nullopt;
  }
  if (is_ours(*holder)) {
    return std::string("the command already runs under another `kvet record` (") + cuda_variable + " is " +
           std::string(*holder) + ")";
  }
  return std::string("another tool is to be injected into the command: ") + cuda_variable + " is " +
         std::string(*holder) + ", which kvet does not override";
}

void inject(Environment& environment, const InjectionSettings& settings) {
  set_variable(environment, cuda_variable, settings.library);
  // Without NVTX ranges a recording is whole all the same: somebody else's use of it is respected and costs no tier.
  if (!variable(environment, nvtx_variable)) {
    set_variable(environment, nvtx_variable, settings.library);
  }
  if (settings.wait_for_probe) {
    set_variable(environment, "KVET_WAIT_MS", "200");
  }
  if (settings.discard) {
    set_variable(environment, "KVET_DISCARD", "1");
  }
  if (settings.memory_descriptor >= 0) {
    set_variable(environment, "KVET_MEMORY_FD", std::to_string(settings.memory_descriptor));
    set_variable(environment, "KVET_MEMORY_PATH", settings.memory_path);
  }
}

}  // namespace kvet::record
