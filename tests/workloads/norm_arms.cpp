// Two arms of a serving job, for the verdict's own tests: $NORM=stock runs two kernels per layer, $NORM=generated one that
// does the same work; beside them a matrix product that both arms run, and on another stream an index refresh that never ends.
//
//   norm_arms --steps 200                   runs, prints its throughput, ends
//   norm_arms --serve PORT                  waits for loads; GET /health says when it is ready
//   norm_arms --load PORT --steps 200       asks a server for that many steps and prints what it answers
//
// How fast the kernels are is in the module text below: what kvet should find is known beforehand.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda_api.h"
#include "nvtx.h"

namespace workloads {
namespace {

constexpr int layers = 4;

constexpr const char* module_text =
    "//simcuda stock_residual_add registers=24 block_ns=40000 read=16384 write=16384 instructions=500\n"
    "//simcuda stock_rms_norm registers=32 block_ns=80000 read=16384 write=16384 instructions=1500\n"
    "//simcuda generated_add_rms_norm registers=40 block_ns=80000 read=16384 write=16384 instructions=1500\n"
    "//simcuda matrix_product registers=96 shared=32768 block_ns=120000 read=131072 write=16384 instructions=9000\n"
    "//simcuda index_refresh registers=64 block_ns=100000 read=65536 write=1024 instructions=800\n";

class Model {
 public:
  Model() {
    const char* norm = std::getenv("NORM");
    const bool generated = norm != nullptr && std::strcmp(norm, "generated") == 0;
    void* module = nullptr;
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context_, 0));
    MUST(cuCtxSetCurrent(context_));
    MUST(cuModuleLoadData(&module, module_text));
    std::vector<const char*> names =
        generated ? std::vector{"generated_add_rms_norm"} : std::vector{"stock_residual_add", "stock_rms_norm"};
    for (const char* name : names) {
      MUST(cuModuleGetFunction(&norm_.emplace_back(), module, name));
    }
    MUST(cuModuleGetFunction(&product_, module, "matrix_product"));
    MUST(cuModuleGetFunction(&refresh_, module, "index_refresh"));
    constexpr unsigned non_blocking = 1;
    MUST(cuStreamCreate(&stream_, non_blocking));
    MUST(cuStreamCreate(&beside_, non_blocking));
  }

  void step() {
    nvtx::Range range("decode step");
    for (int layer = 0; layer < layers; ++layer) {
      for (void* kernel : norm_) {
        MUST(cuLaunchKernel(kernel, 32, 1, 1, 128, 1, 1, 0, stream_, nullptr, nullptr));
      }
      MUST(cuLaunchKernel(product_, 64, 1, 1, 128, 1, 1, 0, stream_, nullptr, nullptr));
    }
    MUST(cuLaunchKernel(refresh_, 16, 1, 1, 256, 1, 1, 0, beside_, nullptr, nullptr));
    MUST(cuStreamSynchronize(stream_));
  }

  // "throughput: N steps/s"
  std::string run(int steps) {
    MUST(cuCtxSetCurrent(context_));
    const int64_t start = now_ns();
    for (int i = 0; i < steps; ++i) {
      step();
    }
    char text[64];
    std::snprintf(text, sizeof text, "throughput: %.3f steps/s\n", steps * 1e9 / static_cast<double>(now_ns() - start));
    return text;
  }

 private:
  void* context_ = nullptr;
  std::vector<void*> norm_;
  void *product_ = nullptr, *refresh_ = nullptr, *stream_ = nullptr, *beside_ = nullptr;
};

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

int serve(int port) {
  Model model;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = loopback(port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener, 8) != 0) {
    std::perror("norm_arms: listen");
    return 1;
  }
  for (;;) {
    const int client = accept(listener, nullptr, nullptr);
    char request[512];
    const ssize_t size = recv(client, request, sizeof request - 1, 0);
    request[size > 0 ? size : 0] = '\0';
    const char* steps = std::strstr(request, "/steps/");
    const std::string body = steps != nullptr ? model.run(std::atoi(steps + 7)) : "ready\n";
    const std::string answer = "HTTP/1.0 200 OK\r\n\r\n" + body;
    send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    close(client);
  }
}

int load(int port, int steps) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    std::perror("norm_arms: connect");
    return 1;
  }
  const std::string request = "GET /steps/" + std::to_string(steps) + " HTTP/1.0\r\n\r\n";
  send(server, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char buffer[512];
  for (ssize_t size = 0; (size = recv(server, buffer, sizeof buffer, 0)) > 0;) {
    answer.append(buffer, static_cast<size_t>(size));
  }
  const size_t body = answer.find("\r\n\r\n");
  if (body == std::string::npos) {
    std::fprintf(stderr, "norm_arms: the server did not answer\n");
    return 1;
  }
  std::fputs(answer.c_str() + body + 4, stdout);
  return 0;
}

}  // namespace
}  // namespace workloads

int main(int count, char** arguments) {
  int steps = 0, serve = 0, load = 0;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    int* into = name == "--steps" ? &steps : name == "--serve" ? &serve : name == "--load" ? &load : nullptr;
    if (into == nullptr) {
      std::fprintf(stderr, "norm_arms: unknown option %s\n", name.c_str());
      return 2;
    }
    *into = std::atoi(arguments[i + 1]);
  }
  if (serve > 0) {
    return workloads::serve(serve);
  }
  if (load > 0) {
    return workloads::load(load, steps);
  }
  workloads::Model model;
  std::fputs(model.run(steps).c_str(), stdout);
  return 0;
}
