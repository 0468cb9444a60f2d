// The recorder's side of the memory-file tier: no privileges, no eBPF (struct kvet_memory_header of abi/records.h). The
// recorder makes the file, the target inherits it, injected libraries write batches into its ring, the recorder takes
// them out. The file is sealed against shrinking, so that reading the mapping cannot fault; its content is hostile.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "abi/records.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "probes/activity/table.h"

namespace kvet::probes {

class MemoryRing {
 public:
  // The descriptor is inherited over exec. Errors: unavailable (no memfd, no memory).
  static Result<MemoryRing> create(uint32_t slots = KVET_MEMORY_SLOTS, uint32_t tables = KVET_MEMORY_TABLES);
  MemoryRing(MemoryRing&& other) noexcept;
  MemoryRing& operator=(MemoryRing&&) = delete;
  ~MemoryRing();

  // Set both in the target's environment: KVET_MEMORY_FD=descriptor(), KVET_MEMORY_PATH=path(). The path serves a target
  // whose launcher closed inherited descriptors; it holds while this process lives.
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::string path() const;

  // Hands over every batch that is ready, in order, as copies that the target can no longer change. `header.count` has
  // been held to the records given. Call it every few milliseconds. Returns the number of batches.
  using Handler = std::function<void(const kvet_batch_header&, std::span<const kvet_record>)>;
  size_t poll(const Handler& handler);
  // The same at the end of a recording: a slot that was taken and never filled is skipped at once.
  size_t drain(const Handler& handler);

  // The table that a batch's header names by its offset.
  [[nodiscard]] Result<Table> table(const kvet_batch_header& header) const;

  [[nodiscard]] uint64_t dropped_records() const;  // found the ring full; the processes report them as losses too
  [[nodiscard]] uint64_t skipped_batches() const { return skipped_; }  // their writers died before they were filled
  [[nodiscard]] uint32_t processes_without_table() const;  // came when all tables were taken, and recorded nothing

 private:
  MemoryRing() = default;
  size_t take(const Handler& handler, bool at_end);

  FileDescriptor file_;
  unsigned char* map_ = nullptr;
  size_t size_ = 0;
  uint32_t slots_ = 0, tables_ = 0;
  uint64_t next_ = 0;  // ticket
  int64_t waiting_since_ns_ = 0;  // for the slot of `next_`; 0: not waiting
  uint64_t skipped_ = 0;
  std::vector<kvet_record> copy_;
};

}  // namespace kvet::probes
