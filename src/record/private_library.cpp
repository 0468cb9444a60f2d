#include "record/private_library.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file_descriptor.h"
#include "record/embedded_inject.h"
#include "record/mappings.h"
#include "record/process_facts.h"

namespace kvet::record {

namespace {

bool may_map_programs(const char* folder) {
  struct statvfs file_system{};
  return statvfs(folder, &file_system) == 0 && (file_system.f_flag & ST_NOEXEC) == 0;
}

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// Has any process been started with this path in its environment? What it starts inherits that in turn.
bool is_named_by_somebody(const std::string& path) {
  return std::ranges::any_of(all_processes(), [&](int pid) { return read_proc_file(pid, "environ").contains(path); });
}

constexpr const char* file_name = "libkvet_inject.so";

bool take_lock(const FileDescriptor& file) { return file.valid() && flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

// The folder of a recorder of ours that is no more. One that is a minute old and not locked has no owner; a younger one may
// be between being made and being locked.
bool is_left_over(const std::string& folder) {
  constexpr time_t minute = 60;
  struct stat status{};
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
      time(nullptr) - status.st_mtime < minute) {
    return false;
  }
  const std::string path = folder + "/" + file_name;
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  return take_lock(file) && !is_named_by_somebody(path);
}

void remove_left_overs(const std::string& place) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
    constexpr size_t length = sizeof "kvet-XXXXXX" - 1;
    const std::string name = at->path().filename();
    if (name.starts_with("kvet-") && name.size() == length && is_left_over(at->path())) {
      unlink((at->path() / file_name).c_str());
      rmdir(at->path().c_str());  // stays where anything else lies in it
    }
  }
}

}  // namespace

Result<PrivateLibrary> PrivateLibrary::create() {
  std::string reason = "no folder allows it";
  const char* own = std::getenv("TMPDIR");
  for (const char* place : {own, "/tmp", "/var/tmp", "/dev/shm"}) {
    if (place == nullptr || !may_map_programs(place)) {
      continue;
    }
    remove_left_overs(place);
    std::string folder = std::string(place) + "/kvet-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) {
      reason = folder + ": " + std::strerror(errno);
      continue;
    }
    PrivateLibrary library;
    library.folder_ = folder;
    library.path_ = folder + "/" + file_name;
    const FileDescriptor file(open(library.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    // The target may run as another user: everybody may read, nobody may write.
    if (file.valid() && write_all(file.get(), embedded_inject_library()) && fchmod(file.get(), 0555) == 0 &&
        chmod(folder.c_str(), 0755) == 0) {
      library.lock_.reset(open(library.path_.c_str(), O_RDONLY | O_CLOEXEC));
      take_lock(library.lock_);  // where a file system has no locks, nobody else gets one either
      return library;
    }
    reason = library.path_ + ": " + std::strerror(errno);
  }
  return fail(ErrorKind::unavailable, "the library to inject cannot be written: " + reason, "temporary files",
              "set TMPDIR to a folder that is writable and not mounted noexec");
}

PrivateLibrary::PrivateLibrary(PrivateLibrary&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      path_(std::exchange(other.path_, {})),
      lock_(std::move(other.lock_)),
      kept_(other.kept_) {}

PrivateLibrary::~PrivateLibrary() {
  // A process that outlives the recording looks for the file when it starts CUDA. Were the name free by then, anybody could
  // put a library of his own there.
  if (!folder_.empty() && !kept_ && !is_named_by_somebody(path_)) {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
}

}  // namespace kvet::record
