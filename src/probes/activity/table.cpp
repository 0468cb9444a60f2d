#include "probes/activity/table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

namespace kvet::probes {
namespace {

struct Mapping {
  uint64_t start, end;
};

// The mappings of `process` that are memfds of this name, as /proc/PID/maps lists them.
Result<std::vector<Mapping>> table_mappings(const std::string& process) {
  const std::string path = process + "/maps";
  FILE* file = fopen(path.c_str(), "re");
  if (file == nullptr) {
    return fail(ErrorKind::unavailable, std::string("cannot read the process's mappings: ") + strerror(errno), path,
                "the process may have ended, or reading it needs root");
  }
  std::vector<Mapping> found;
  char* line = nullptr;
  size_t room = 0;
  while (getline(&line, &room, file) > 0) {
    if (strstr(line, "/memfd:kvet-table (deleted)") == nullptr) {
      continue;
    }
    // The library opens its table piece by piece: the first piece begins with the header.
    Mapping mapping{};
    uint64_t offset = 0;
    if (sscanf(line, "%lx-%lx %*s %lx", &mapping.start, &mapping.end, &offset) == 3 && offset == 0) {
      found.push_back(mapping);
    }
  }
  free(line);
  fclose(file);
  return found;
}

}  // namespace

Result<Table> Table::open(int pid) {
  // A mapping that grows in the moment between the list and its being opened has another name by then, and a process that
  // begins to launch grows it at just that time. The process's memory is the last resort: it dies with the process.
  constexpr int attempts = 50;
  for (int attempt = 1; attempt < attempts; ++attempt) {
    int refused = 0;
    auto table = open_once(pid, false, refused);
    if (table || refused == 0) {
      return table;
    }
    if (refused != ENOENT) {
      break;
    }
  }
  int refused = 0;
  return open_once(pid, true, refused);
}

Result<Table> Table::open_once(int pid, bool through_memory, int& refused) {
  const std::string process = "/proc/" + std::to_string(pid);
  auto mappings = table_mappings(process);
  if (!mappings) {
    return std::unexpected(mappings.error());
  }
  if (mappings->empty()) {
    return fail(ErrorKind::unavailable, "the process has no table of kernel names", process,
                "the injected library is not loaded there, or has not started yet");
  }
  // A process has one table; were there several, the newest mapping that is a valid table counts.
  std::string reason;
  for (auto mapping = mappings->rbegin(); mapping != mappings->rend(); ++mapping) {
    char name[64];
    snprintf(name, sizeof(name), "/map_files/%lx-%lx", mapping->start, mapping->end);
    Table table;
    table.file_ = FileDescriptor{::open((process + name).c_str(), O_RDONLY | O_CLOEXEC)};
    if (!table.file_.valid()) {
      refused = errno;
    }
    if (!table.file_.valid() && through_memory) {
      // map_files needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. The process's memory needs less, but dies with it.
      table.file_ = FileDescriptor{::open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC)};
      table.base_ = mapping->start;
    }
    if (!table.file_.valid()) {
      reason = std::string("cannot open the table of kernel names: ") + strerror(errno);
      continue;
    }
    if (auto header = table.header()) {
      return table;
    } else {
      reason = header.error().what;
    }
  }
  return fail(ErrorKind::bad_input, reason, process, "use the injected library of this version of kvet");
}

Result<Table> Table::in_memory_file(int descriptor, uint64_t offset) {
  Table table;
  table.file_ = FileDescriptor{fcntl(descriptor, F_DUPFD_CLOEXEC, 0)};
  table.base_ = offset;
  if (!table.file_.valid()) {
    return fail(ErrorKind::unavailable, std::string("cannot keep the memory file open: ") + strerror(errno));
  }
  if (auto header = table.header(); !header) {
    return std::unexpected(header.error());
  }
  return table;
}

bool Table::read(uint64_t offset, void* to, size_t size) const {
  char* bytes = static_cast<char*>(to);
  if (offset > KVET_TABLE_BYTES || size > KVET_TABLE_BYTES - offset) {
    return false;
  }
  while (size > 0) {
    const ssize_t got = pread(file_.get(), bytes, size, static_cast<off_t>(base_ + offset));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    bytes += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool Table::same_as(const Table& other) const {
  struct stat mine{};
  struct stat theirs{};
  return base_ == other.base_ && fstat(file_.get(), &mine) == 0 && fstat(other.file_.get(), &theirs) == 0 &&
         mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

Result<kvet_table> Table::header() const {
  kvet_table header{};
  if (!read(0, &header, sizeof(header))) {
    return fail(ErrorKind::bad_input, "the table of kernel names is cut short");
  }
  if (header.magic != KVET_TABLE_MAGIC) {
    return fail(ErrorKind::bad_input, "not a table of kernel names");
  }
  if (header.abi_version != KVET_ABI_VERSION) {
    return fail(ErrorKind::bad_input, "the injected library speaks version " + std::to_string(header.abi_version) +
                                          ", this kvet speaks version " + std::to_string(KVET_ABI_VERSION));
  }
  return header;
}

const char* sentence(kvet_inject_status status) {
  switch (status) {
    case KVET_INJECT_STARTING: return "the library in the target was still starting";
    case KVET_INJECT_RECORDING: return "the library in the target recorded GPU activity";
    case KVET_INJECT_NO_CUPTI: return "no libcupti where the target can see it: no GPU activity was recorded";
    case KVET_INJECT_CUPTI_TOO_OLD:
      return "the target's libcupti is older than CUDA 12.0: no GPU activity was recorded";
    case KVET_INJECT_CUPTI_HELD: return "another profiler holds CUPTI in the target: no GPU activity was recorded";
    case KVET_INJECT_CUPTI_FAILED: return "CUPTI refused to start in the target: no GPU activity was recorded";
    case KVET_INJECT_NO_PROBE: return "nobody read the target's records when it started: they are counted as lost";
    case KVET_INJECT_FORKED: return "a forked child of a process that uses CUDA: CUDA does not work in it";
    case KVET_INJECT_READER_GONE:
      return "nobody read the target's records for half a minute: the library stopped recording there";
  }
  return "the library in the target reports a status that this kvet does not know";
}

}  // namespace kvet::probes
