#include "validate/gpu_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "validate/result_files.h"

namespace kvet::validate {

Result<FileDescriptor> lock_gpu(const std::string& device) {
  std::string name = device.empty() ? "default" : device;
  for (char& letter : name) {
    letter = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                     letter == '-'
                 ? letter
                 : '_';
  }
  FileDescriptor file;
  std::string path;
  // /run/lock is for this, and everyone may write there; where it is missing, /tmp.
  for (const char* folder : {"/run/lock", "/tmp"}) {
    path = std::string(folder) + "/kvet-gpu-" + name.substr(0, 80) + ".lock";
    file.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file.valid()) {
      break;
    }
  }
  if (!file.valid()) {
    return fail(ErrorKind::unavailable, std::string("cannot be opened: ") + std::strerror(errno), path,
                "it belongs to somebody else: remove it when no kvet runs");
  }
  ::fchmod(file.get(),
           0666);  // the umask must not lock out the next user; fails harmlessly for a file of somebody else
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    auto holder = read_file(path);
    return fail(ErrorKind::unavailable,
                "another experiment is running on this GPU, process " +
                    (holder ? printable(std::string(trimmed(*holder)).substr(0, 20)) : std::string("unknown")),
                device.empty() ? "GPU" : "GPU " + device, "wait for it, or name another [gpu] device");
  }
  const std::string own = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), own.data(), own.size(), 0) < 0) {
    return fail(ErrorKind::unavailable, std::string("cannot be written: ") + std::strerror(errno), path);
  }
  return file;
}

}  // namespace kvet::validate
