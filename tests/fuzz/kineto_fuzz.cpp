// The PyTorch profiler's traces. Bytes from 0xff on separate the files of one import: a real file has none, since it is UTF-8 or
// begins with gzip's magic number.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz_sink.h"
#include "import/kineto.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kvet::importing;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> parts;
  constexpr size_t most_files = 3;
  for (size_t from = 0; from <= bytes.size();) {
    size_t to = parts.size() + 1 < most_files ? bytes.find('\xff', from) : std::string_view::npos;
    // Gzip may hold any byte: it is one file to the end.
    if (to == std::string_view::npos || bytes.substr(from).starts_with("\x1f\x8b")) {
      to = bytes.size();
    }
    parts.push_back(bytes.substr(from, to - from));
    from = to + 1;
  }
  std::vector<KinetoInput> inputs;
  inputs.reserve(parts.size());
  for (const std::string_view part : parts) {
    inputs.push_back({"input", [part] { return open_memory({part.data(), part.size()}, "input"); }});
  }
  kvet::fuzz::Sink sink;
  const auto done = import_traces(inputs, sink);
  // A refusal says what, of which file; a success has kernels, or counted what it set aside.
  if (!done && (done.error().what.empty() || done.error().subject != "input")) {
    std::abort();
  }
  if (done && sink.executions + sink.losses == 0) {
    std::abort();
  }
  return 0;
}
