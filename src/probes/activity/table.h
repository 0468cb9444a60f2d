// The table of names and launch shapes that the injected library keeps (struct kvet_table of abi/records.h), read from
// outside. It belongs to the target, so it is hostile input, and it is read with pread, never through a mapping: the
// target could shrink its file, and a mapping would then kill the recorder with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/records.h"
#include "base/file_descriptor.h"
#include "base/result.h"

namespace kvet::probes {

class Table {
 public:
  Table() = default;

  // Opens the table that process `pid` has mapped. Open it while the process lives; it can be read after its death. The
  // table that a forked child inherited from its parent is not its own and is refused.
  // Errors: unavailable (no such process, no table, not allowed), bad_input (not a table, another ABI version).
  static Result<Table> open(int pid);

  // The table at `offset` of the recorder's own memory file (`kvet_batch_header::table_address` in that tier).
  static Result<Table> in_memory_file(int descriptor, uint64_t offset);

  // Copies `size` bytes at `offset` (counted from the table's header); false where they are not all there.
  [[nodiscard]] bool read(uint64_t offset, void* to, size_t size) const;

  // A fresh copy of the header. Errors: bad_input where it is not the header of a table of this ABI version.
  [[nodiscard]] Result<kvet_table> header() const;

  // Writes the reader's process id into the table: a library that waits at start-up goes on when it sees it.
  // `acknowledge`: with KVET_TABLE_ACKNOWLEDGED. False: not allowed to write there, or no table.
  [[nodiscard]] bool sign(int32_t recorder_pid, bool acknowledge = false) const;
  // A second handle on the same table, for another thread.
  [[nodiscard]] Table duplicate() const;

  [[nodiscard]] bool valid() const { return file_.valid(); }
  // The same table, opened twice?
  [[nodiscard]] bool same_as(const Table& other) const;

 private:
  // `refused`: errno of what could not be opened, if anything.
  static Result<Table> open_once(int pid, bool through_memory, int& refused);
  FileDescriptor file_;
  uint64_t base_ = 0;
};

// One sentence about what the injected library achieved, from the header's status.
[[nodiscard]] const char* sentence(kvet_inject_status status);

}  // namespace kvet::probes
