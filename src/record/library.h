// Libraries that processes have mapped and that a probe is to sit on, by what they are, not by where they lie: the device
// and inode of the file decide, and its own soname and symbols say what it is. So a library under an odd name is found,
// and one that is mapped through two paths is one library.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "probes/kernel/probed_function.h"

namespace kvet::record {

enum class LibraryKind : uint8_t { other, cuda, nccl, inject };

struct FileIdentity {
  uint64_t device = 0, inode = 0;
  int64_t size = 0, changed_ns = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

// Where a probe goes in one library.
struct FunctionOffset {
  uint64_t offset = 0;
  const probes::ProbedFunction* function = nullptr;
};

struct Library {
  LibraryKind kind = LibraryKind::other;
  FileIdentity identity;
  std::string path;  // as the first process that mapped it names it, for messages
  std::string soname;
  std::string build_id;
  FileDescriptor file;  // O_PATH; keeps it reachable after that process has gone; closed for LibraryKind::other
  std::vector<FunctionOffset> functions;

  // A path that this process can open, whatever mount namespace the library comes from.
  [[nodiscard]] std::string reachable_path() const { return "/proc/self/fd/" + std::to_string(file.get()); }
  // Two mounts of one layer show one file under two devices; everything else about it is the same.
  [[nodiscard]] bool same_file(const Library& other) const;
};

// Remembers every file that was looked at. Used by one thread.
class LibraryIndex {
 public:
  LibraryIndex(std::span<const probes::ProbedFunction> cuda, std::span<const probes::ProbedFunction> nccl)
      : cuda_(cuda), nccl_(nccl) {}

  // What the file (opened at least with O_PATH) is. Never null; one of no interest is LibraryKind::other.
  std::shared_ptr<const Library> identify(FileDescriptor file, const std::string& path);

 private:
  std::shared_ptr<const Library> inspect(FileDescriptor file, const std::string& path, const FileIdentity& identity);

  std::span<const probes::ProbedFunction> cuda_, nccl_;
  std::map<FileIdentity, std::shared_ptr<const Library>> known_;
};

}  // namespace kvet::record
