#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/unfinished_names.h"

namespace kvet {
namespace {

constexpr size_t buffer_bytes = 256 * 1024;

std::unexpected<Error> cannot_be_written(const std::string& subject, int problem) {
  return fail(ErrorKind::internal, std::string("cannot be written: ") + std::strerror(problem), subject,
              "Free space, or give another place with -o");
}

}  // namespace

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)), target_(path_) {
  std::error_code problem;
  if (std::filesystem::is_symlink(path_, problem)) {
    const auto real = std::filesystem::canonical(path_, problem);
    target_ = problem ? path_ : real.string();
  }
  unfinished_ = target_ + ".unfinished" + std::to_string(::getpid());
  remember_unfinished(unfinished_);
}

UnfinishedFile::UnfinishedFile(UnfinishedFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      unfinished_(std::exchange(other.unfinished_, {})) {}

UnfinishedFile::~UnfinishedFile() {
  if (unfinished_.empty()) {
    return;
  }
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    ::unlink((unfinished_ + suffix).c_str());
  }
  forget_unfinished(unfinished_);
}

Result<void> UnfinishedFile::check_target() const {
  struct stat status{};
  if (::stat(target_.c_str(), &status) != 0 || S_ISREG(status.st_mode)) {
    return {};
  }
  return fail(ErrorKind::internal,
              S_ISDIR(status.st_mode) ? "is a folder" : "is there already and is not a regular file", path_,
              "Choose another name with -o");
}

Error UnfinishedFile::named(Error error) const {
  for (std::string* text : {&error.subject, &error.what, &error.advice}) {
    for (size_t at = 0; (at = text->find(unfinished_, at)) != std::string::npos; at += path_.size()) {
      text->replace(at, unfinished_.size(), path_);
    }
  }
  return error;
}

Result<void> UnfinishedFile::publish() {
  if (auto good = check_target(); !good) {
    return good;
  }
  if (::rename(unfinished_.c_str(), target_.c_str()) != 0) {
    return fail(ErrorKind::internal, std::string("cannot be given its name: ") + std::strerror(errno), path_,
                "Choose another name with -o");
  }
  forget_unfinished(unfinished_);
  unfinished_.clear();
  return {};
}

OutputFile::OutputFile(std::string subject, FileDescriptor file, std::optional<UnfinishedFile> unfinished)
    : subject_(std::move(subject)), unfinished_(std::move(unfinished)), file_(std::move(file)) {
  buffer_.reserve(buffer_bytes);
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (path.empty()) {
    FileDescriptor copy(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) {
      return cannot_be_written("standard output", errno);
    }
    return OutputFile("standard output", std::move(copy), std::nullopt);
  }
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return cannot_be_written(path, EISDIR);
  }
  if (exists && !S_ISREG(status.st_mode)) {  // /dev/stdout, a pipe: to be written to, not to be replaced
    FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.valid()) {
      return cannot_be_written(path, errno);
    }
    return OutputFile(path, std::move(file), std::nullopt);
  }
  UnfinishedFile unfinished(path);
  // What lies at that name can only be of a process of the same id that was killed, or a trap.
  ::unlink(unfinished.name().c_str());
  FileDescriptor file(::open(unfinished.name().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) {
    return cannot_be_written(path, errno);
  }
  return OutputFile(path, std::move(file), std::move(unfinished));
}

void OutputFile::write(std::string_view bytes) {
  if (failed()) {
    return;
  }
  buffer_ += bytes;
  if (buffer_.size() >= buffer_bytes) {
    flush();
  }
}

void OutputFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && !failed()) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      problem_ = errno;
    }
  }
  buffer_.clear();
}

Result<void> OutputFile::finish() {
  flush();
  if (!failed() && unfinished_ && ::fsync(file_.get()) != 0) {
    problem_ = errno;
  }
  if (::close(file_.release()) != 0 && !failed()) {
    problem_ = errno;
  }
  if (failed()) {
    unfinished_.reset();
    return cannot_be_written(subject_, problem_);
  }
  return unfinished_ ? unfinished_->publish() : Result<void>{};
}

Result<void> write_whole_file(const std::string& path, std::string_view content) {
  auto output = OutputFile::create(path);
  if (!output) {
    return std::unexpected(output.error());
  }
  output->write(content);
  return output->finish();
}

}  // namespace kvet
