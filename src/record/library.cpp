#include "record/library.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "record/elf_file.h"

namespace kvet::record {

namespace {

// A function that only this library defines, and the beginning of its soname. libcuda is asked for both, since shims
// that stand before the driver define its functions too and would count every launch twice; NCCL comes under any name,
// bundled into other libraries as well.
LibraryKind kind_of(const ElfFile& file) {
  if (file.soname().starts_with("libkvet_inject.so")) {
    return LibraryKind::inject;
  }
  if (file.soname().starts_with("libcuda.so") && file.function_offset("cuLaunchKernel")) {
    return LibraryKind::cuda;
  }
  if (file.function_offset("ncclAllReduce") && file.function_offset("ncclCommInitRank")) {
    return LibraryKind::nccl;
  }
  return LibraryKind::other;
}

std::vector<FunctionOffset> locate(const ElfFile& file, std::span<const probes::ProbedFunction> functions) {
  std::vector<FunctionOffset> located;
  for (const probes::ProbedFunction& function : functions) {
    const auto offset = file.function_offset(function.symbol);
    // Two names of one address are one function: probed once, under the first name.
    if (offset && std::ranges::find(located, *offset, &FunctionOffset::offset) == located.end()) {
      located.push_back({*offset, &function});
    }
  }
  return located;
}

}  // namespace

bool Library::same_file(const Library& other) const {
  if (identity == other.identity) {
    return true;
  }
  return kind == other.kind && identity.inode == other.identity.inode && identity.size == other.identity.size &&
         identity.changed_ns == other.identity.changed_ns && build_id == other.build_id && soname == other.soname;
}

std::shared_ptr<const Library> LibraryIndex::identify(FileDescriptor file, const std::string& path) {
  struct stat status{};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    static const auto nothing = std::make_shared<const Library>();
    return nothing;
  }
  const FileIdentity identity{status.st_dev, status.st_ino, status.st_size,
                              status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
  const auto known = known_.find(identity);
  if (known != known_.end()) {
    return known->second;
  }
  auto library = inspect(std::move(file), path, identity);
  known_.emplace(identity, library);
  return library;
}

std::shared_ptr<const Library> LibraryIndex::inspect(FileDescriptor file, const std::string& path,
                                                     const FileIdentity& identity) {
  auto library = std::make_shared<Library>();
  library->identity = identity;
  library->path = path;
  const FileDescriptor content(open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY | O_CLOEXEC));
  const auto elf = ElfFile::open(content.get());
  if (!elf) {
    return library;
  }
  library->kind = kind_of(*elf);
  library->soname = elf->soname();
  library->build_id = elf->build_id();
  switch (library->kind) {
    case LibraryKind::cuda: library->functions = locate(*elf, cuda_); break;
    case LibraryKind::nccl: library->functions = locate(*elf, nccl_); break;
    case LibraryKind::inject:
    case LibraryKind::other: break;
  }
  if (library->kind != LibraryKind::other) {
    library->file = std::move(file);
  }
  return library;
}

}  // namespace kvet::record
