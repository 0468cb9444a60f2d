// How long one import takes, from bytes that are decompressed already.
//   import_speed FILE [CAPTURE]
// One line of JSON: bytes, executions, seconds from the bytes to the in-memory view, and, with CAPTURE, seconds to write it there.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "import/byte_source.h"
#include "import/kineto.h"
#include "store/memory_capture.h"
#include "store/writer.h"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int fail_with(const kvet::Error& error) {
  std::fprintf(stderr, "import_speed: %s\n", error.message().c_str());
  return error.exit_status();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::fputs("usage: import_speed FILE [CAPTURE]\n", stderr);
    return 64;
  }
  const std::string path = arguments[1];
  auto source = kvet::importing::open_bytes(path);
  if (!source) {
    return fail_with(source.error());
  }
  std::vector<char> bytes;
  for (size_t size = 0;;) {
    bytes.resize(size + (size_t{16} << 20));
    const auto read = (*source)->read({bytes.data() + size, bytes.size() - size});
    if (!read) {
      return fail_with(read.error());
    }
    size += *read;
    if (*read == 0) {
      bytes.resize(size);
      break;
    }
  }
  const std::vector<kvet::importing::KinetoInput> inputs{
      {path, [&] { return kvet::importing::open_memory(bytes, path); }}};

  const double begin = now();
  kvet::store::MemoryCapture memory;
  if (auto imported = kvet::importing::import_traces(inputs, memory); !imported) {
    return fail_with(imported.error());
  }
  const auto capture = std::move(memory).finish(path);
  if (!capture) {
    return fail_with(capture.error());
  }
  const double view = now() - begin;

  double stored = 0;
  if (count == 3) {
    const double from = now();
    auto writer = kvet::store::CaptureWriter::create(arguments[2]);
    if (!writer) {
      return fail_with(writer.error());
    }
    if (auto imported = kvet::importing::import_traces(inputs, **writer); !imported) {
      return fail_with(imported.error());
    }
    if (auto finished = (*writer)->finish(); !finished) {
      return fail_with(finished.error());
    }
    stored = now() - from;
  }
  std::printf("{\"bytes\": %zu, \"executions\": %zu, \"view_s\": %.6f, \"store_s\": %.6f}\n", bytes.size(),
              capture->executions.size(), view, stored);
}
