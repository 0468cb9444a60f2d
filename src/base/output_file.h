// Output that is there whole or not at all: written beside its name, and given the name at the end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace kvet {

// A name beside `path` to write under, for whoever opens the file itself (SQLite). Until publish() nothing appears at `path`
// and what was there stays; what was never published is removed, SQLite's side files with it.
class UnfinishedFile {
 public:
  // Where `path` is a symbolic link, the file that it leads to is meant. Creates nothing.
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&&) = delete;

  [[nodiscard]] const std::string& name() const { return unfinished_; }
  // Whether publish() would replace nothing but a regular file: to be asked before any work. Errors are internal, as of
  // publish(): the output could not be written.
  [[nodiscard]] Result<void> check_target() const;
  Result<void> publish();
  // The error of whoever wrote under name(), about the path that was asked for.
  [[nodiscard]] Error named(Error error) const;

 private:
  std::string path_, target_, unfinished_;
};

// A stream of bytes into such a file, into standard output, or into a device or pipe (which are written as they are).
//
//   auto output = OutputFile::create(options.output);  if (!output) return std::unexpected(output.error());
//   output->write(...);                                // as often as is needed
//   return output->finish();                           // says the first thing that failed, and then leaves no file
class OutputFile {
 public:
  // "": standard output. Errors are internal (exit status 70): the file cannot be made there.
  static Result<OutputFile> create(const std::string& path);

  // Buffered. What follows a failure is thrown away.
  void write(std::string_view bytes);
  [[nodiscard]] bool failed() const { return problem_ != 0; }  // then there is no use in going on
  Result<void> finish();

 private:
  OutputFile(std::string subject, FileDescriptor file, std::optional<UnfinishedFile> unfinished);
  void flush();
  std::string subject_;
  std::optional<UnfinishedFile> unfinished_;
  FileDescriptor file_;
  std::string buffer_;
  int problem_ = 0;  // errno of the first failure
};

// The whole content at once.
Result<void> write_whole_file(const std::string& path, std::string_view content);

}  // namespace kvet
