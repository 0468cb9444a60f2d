#include "base/unfinished_names.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kvet {
namespace {

// Fixed memory: a signal handler reads it and may neither allocate nor wait for a lock.
enum class State : uint8_t { free, changing, used };
struct Name {
  std::atomic<State> state = State::free;
  std::array<char, PATH_MAX> text{};
};
std::array<Name, 16> names;
static_assert(std::atomic<State>::is_always_lock_free);

// As the kernel lays it out: getdents64(2).
struct DirectoryEntry {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[1];
};

// opendir() allocates, so the system call is made directly.
void empty_folder(int folder) {
  alignas(DirectoryEntry) static std::array<char, 32 * 1024> entries;
  for (bool removed = true; removed;) {  // again from the start: entries that go may move others
    removed = false;
    ::lseek(folder, 0, SEEK_SET);
    for (int64_t bytes = 0; (bytes = ::syscall(SYS_getdents64, folder, entries.data(), entries.size())) > 0;) {
      for (int64_t at = 0; at < bytes;) {
        const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries.data() + at);
        removed = ::unlinkat(folder, static_cast<const char*>(entry->name), 0) == 0 || removed;
        at += entry->length;
      }
    }
  }
}

void remove_one(const char* name) {
  // No link is followed: what lies at that name is kvet's own, or it stays.
  const int folder = ::open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0) {
    empty_folder(folder);
    ::close(folder);
    ::rmdir(name);
    return;
  }
  static std::array<char, PATH_MAX + 16> with_suffix;
  const size_t length = ::strnlen(name, PATH_MAX);
  std::memcpy(with_suffix.data(), name, length);
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::memcpy(with_suffix.data() + length, suffix, std::strlen(suffix) + 1);
    ::unlink(with_suffix.data());
  }
}

extern "C" void remove_all_and_end(int) {
  for (size_t at = names.size(); at-- > 0;) {  // what lies in a folder came after it
    if (names[at].state.load() == State::used) {
      remove_one(names[at].text.data());
    }
  }
  constexpr std::string_view line = "kvet: interrupted: the output was not written\n";
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  ::_exit(75);  // docs/exit-status.md
}

}  // namespace

void remember_unfinished(const std::string& name) {
  if (name.empty() || name.size() >= PATH_MAX) {
    return;
  }
  for (Name& each : names) {
    State expected = State::free;
    if (each.state.compare_exchange_strong(expected, State::changing)) {
      std::memcpy(each.text.data(), name.c_str(), name.size() + 1);
      each.state.store(State::used);
      return;
    }
  }
}

void forget_unfinished(const std::string& name) {
  for (Name& each : names) {
    if (each.state.load() == State::used && name == each.text.data()) {
      each.state.store(State::free);
      return;
    }
  }
}

void remove_unfinished_on_signals() {
  struct sigaction action{};
  action.sa_handler = remove_all_and_end;
  ::sigemptyset(&action.sa_mask);
  const std::array ends{SIGINT, SIGTERM, SIGHUP};
  for (const int signal : ends) {
    ::sigaddset(&action.sa_mask, signal);  // one at a time
  }
  for (const int signal : ends) {
    struct sigaction before{};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
      ::sigaction(signal, &action, nullptr);
    }
  }
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace kvet
