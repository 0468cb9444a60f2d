#include "validate/planted_workload.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "store/writer.h"
#include "verdict/planted_capture.h"

namespace kvet::validate::testing {
namespace {

int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// When the load began, on CLOCK_MONOTONIC. File times tick every few milliseconds: 10 ms later is surely in the window.
int64_t load_began() {
  struct stat status{};
  const char* stamp = std::getenv("KVET_TEST_STAMP");
  if (stamp == nullptr || ::stat(stamp, &status) != 0) {
    return clock_ns(CLOCK_MONOTONIC);
  }
  int64_t real = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return real - clock_ns(CLOCK_REALTIME) + clock_ns(CLOCK_MONOTONIC) + 10'000'000;
}

pid_t command_group = -1;
void pass_on(int signal) {
  if (command_group > 0) {
    ::kill(-command_group, signal);
  }
}

int record(const std::vector<std::string>& arguments) {
  std::string output;
  std::vector<std::string> facts;
  size_t i = 0;
  for (; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i] == "-o") {
      output = arguments[++i];
    } else if (arguments[i] == "--meta") {
      facts.push_back(arguments[++i]);
    }
  }
  bool generated = false;
  std::vector<char*> command;
  for (++i; i < arguments.size(); ++i) {
    generated = generated || arguments[i] == "NORM=generated";
    command.push_back(const_cast<char*>(arguments[i].c_str()));
  }
  command.push_back(nullptr);
  pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    ::execvp(command.front(), command.data());
    ::_exit(127);
  }
  ::setpgid(pid, pid);
  command_group = pid;
  ::signal(SIGINT, pass_on);
  ::signal(SIGTERM, pass_on);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
  }
  verdict::testing::PlantedLoop loop{{{generated ? "generated_norm" : "stock_norm", generated ? 80.0 : 120.0}}};
  loop.steps = 32;
  // A little noise between blocks, so that units differ: a fixed pattern, since drawn noise would make the baseline differ
  // from itself once in a hundred runs.
  int pattern = 0;
  for (const std::string& fact : facts) {
    pattern += fact.starts_with("experiment.quad=") ? 7 * std::atoi(fact.c_str() + 16) : 0;
    pattern += fact.starts_with("experiment.position=") ? 3 * std::atoi(fact.c_str() + 20) : 0;
  }
  loop.set_kernels[0].second *= 1 + 0.001 * (pattern % 5 - 2);
  Capture capture = verdict::testing::planted_loop(loop, output);
  const int64_t shift = load_began() - 1'000'000'000;
  auto move = [&](auto& events) {
    for (auto& event : events) {
      event.start_ns += shift;
      event.end_ns += shift;
    }
  };
  move(capture.api_calls);
  move(capture.executions);
  move(capture.ranges);
  for (const std::string& fact : facts) {
    size_t equals = fact.find('=');
    capture.meta[fact.substr(0, equals)] = fact.substr(equals + 1);
  }
  if (!write_capture(capture, output)) {
    return 70;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int serve(uint16_t port) {
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener, 8) != 0) {
    return 1;
  }
  for (;;) {
    int client = ::accept(listener, nullptr, nullptr);
    char buffer[512];
    if (::recv(client, buffer, sizeof buffer, 0) > 0) {
      constexpr const char* answer = "HTTP/1.0 200 OK\r\n\r\n";
      ::send(client, answer, std::strlen(answer), MSG_NOSIGNAL);
    }
    ::close(client);
  }
}

}  // namespace

bool write_capture(const Capture& capture, const std::string& path) {
  ::unlink(path.c_str());
  auto writer = store::CaptureWriter::create(path);
  if (!writer) {
    return false;
  }
  store::CaptureWriter& sink = **writer;
  for (size_t i = 0; i < capture.strings.size(); ++i) {
    if (sink.intern(capture.strings[i]).value != i) {
      return false;
    }
  }
  auto all = [&](const auto& rows) {
    for (const auto& row : rows) {
      sink.on(row);
    }
  };
  all(capture.processes);
  all(capture.devices);
  all(capture.shapes);
  all(capture.api_calls);
  all(capture.executions);
  all(capture.ranges);
  for (const auto& [key, value] : capture.meta) {
    sink.on(Meta{key, value});
  }
  return sink.finish().has_value();
}

int planted_program(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (!words.empty() && words[0] == "record") {
    return record({words.begin() + 1, words.end()});
  }
  if (words.size() == 2 && words[0] == "serve") {
    return serve(static_cast<uint16_t>(std::atoi(words[1].c_str())));
  }
  return -1;
}

}  // namespace kvet::validate::testing

int main(int count, char** arguments) {
  if (int status = kvet::validate::testing::planted_program(count, arguments); status >= 0) {
    return status;
  }
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
