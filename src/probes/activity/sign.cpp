#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "probes/activity/table.h"

namespace kvet::probes {

bool Table::sign(int32_t recorder_pid, bool acknowledge) const {
  // The table is open for reading only; the same file once more, for this one word.
  const FileDescriptor writable(::open(("/proc/self/fd/" + std::to_string(file_.get())).c_str(), O_RDWR | O_CLOEXEC));
  const kvet_u32 word = static_cast<kvet_u32>(recorder_pid) | (acknowledge ? KVET_TABLE_ACKNOWLEDGED : 0);
  const auto at = static_cast<off_t>(base_ + offsetof(kvet_table, recorder_pid));
  return pwrite(writable.get(), &word, sizeof word, at) == static_cast<ssize_t>(sizeof word);
}

Table Table::duplicate() const {
  Table copy;
  copy.file_.reset(fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  copy.base_ = base_;
  return copy;
}

}  // namespace kvet::probes
