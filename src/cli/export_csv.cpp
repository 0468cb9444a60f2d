// kvet export --format csv: a folder that is there whole or not at all.
#include "export/csv.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/unfinished_names.h"
#include "cli/export_formats.h"
#include "cli/metrics_source.h"

namespace kvet::cli {
namespace {

namespace fs = std::filesystem;

// Beside its name until publish(); removed with what is in it if that never came.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(fs::path target) : target_(std::move(target)), unfinished_(unfinished_of(target_)) {}
  ~UnfinishedFolder() {
    if (made_) {
      std::error_code ignored;
      fs::remove_all(unfinished_, ignored);
      forget_unfinished(unfinished_.string());
    }
  }
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;

  Result<void> create() {
    std::error_code problem;
    const bool exists = fs::exists(fs::symlink_status(target_, problem));
    if (exists && !(fs::is_directory(target_, problem) && fs::is_empty(target_, problem))) {
      return fail(ErrorKind::usage, "is there already", target_.string(),
                  "Give the name of a new or empty folder with -o");
    }
    if (exists) {
      if (fs::equivalent(target_, ".", problem)) {
        return fail(ErrorKind::usage, "is the current folder, and would be replaced by another one", target_.string(),
                    "Give the name of a new folder with -o");
      }
      // What a link or "folder/." leads to: rename() replaces neither.
      target_ = fs::canonical(target_, problem);
      if (problem) {
        return cannot_be_made(problem.message());
      }
      unfinished_ = unfinished_of(target_);
    }
    remember_unfinished(unfinished_.string());  // before it is there: a signal may come between
    made_ = fs::create_directory(unfinished_, problem);
    if (!made_) {
      forget_unfinished(unfinished_.string());
    }
    return made_ ? Result<void>{} : cannot_be_made(problem.message());
  }
  Result<void> publish() {
    std::error_code problem;
    fs::rename(unfinished_, target_, problem);  // an empty folder of that name is replaced
    if (problem) {
      return cannot_be_made(problem.message());
    }
    made_ = false;
    forget_unfinished(unfinished_.string());
    return {};
  }
  [[nodiscard]] std::string name() const { return unfinished_.string(); }
  // The error of whoever wrote into it, about the folder that was asked for.
  [[nodiscard]] std::unexpected<Error> named(Error error) const {
    if (error.subject.starts_with(name())) {
      error.subject.replace(0, name().size(), target_.string());
    }
    return std::unexpected(std::move(error));
  }

 private:
  static fs::path unfinished_of(const fs::path& target) {
    return target.string() + ".unfinished" + std::to_string(::getpid());
  }
  [[nodiscard]] std::unexpected<Error> cannot_be_made(const std::string& why) const {
    return fail(ErrorKind::internal, "the folder cannot be made: " + why, target_.string(),
                "Give another place with -o");
  }
  fs::path target_, unfinished_;
  bool made_ = false;
};

}  // namespace

Result<void> export_csv(Capture& capture, const ExportOptions& options) {
  std::string target = options.output;
  while (target.size() > 1 && target.ends_with('/')) {
    target.pop_back();
  }
  if (target.empty()) {
    return fail(ErrorKind::usage, "csv is several files", "export", "Give the folder to make with -o");
  }
  UnfinishedFolder folder{target};
  if (auto made = folder.create(); !made) {
    return made;
  }
  // The tables first: they hold all of the capture, and the findings cut it to their window.
  if (auto written = exporting::write_capture_tables(capture, folder.name()); !written) {
    return folder.named(written.error());
  }
  const auto source = metrics_source(capture, options.kernels);
  if (!source) {
    return std::unexpected(source.error());
  }
  if (auto written = exporting::write_findings_table(*source, folder.name()); !written) {
    return folder.named(written.error());
  }
  return folder.publish();
}

}  // namespace kvet::cli
