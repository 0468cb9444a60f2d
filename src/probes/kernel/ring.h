// What the recorder needs of any BPF object of ours: its ring buffer, its counters, the reason why it did not load.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "abi/bpf_events.h"
#include "base/file_descriptor.h"
#include "base/result.h"

struct ring_buffer;

namespace kvet::probes {

// Reads one BPF ring buffer. The events are copies of what our own programs wrote, in the order of their reservation.
class RingReader {
 public:
  using Handler = std::function<void(std::span<const std::byte>)>;

  // `map_descriptor` stays the caller's and must outlive the reader.
  static Result<RingReader> open(int map_descriptor, Handler handler);

  // Hands over everything that is ready; returns how many events.
  size_t poll();
  [[nodiscard]] int descriptor() const;  // becomes readable when the program wakes the reader

 private:
  struct Close {
    void operator()(ring_buffer* ring) const;
  };
  std::unique_ptr<Handler> handler_;  // its address is known to the ring
  std::unique_ptr<ring_buffer, Close> ring_;
};

// Sums over CPUs, by enum kvet_bpf_counter.
using BpfCounters = std::array<uint64_t, KVET_COUNTER_LIMIT>;
[[nodiscard]] BpfCounters read_counters(int map_descriptor);

// The map of recorded processes that all programs share (kernel/kernel.bpf.h).
class TargetMap {
 public:
  static Result<TargetMap> create();
  Result<void> add(int32_t process_id);
  void remove(int32_t process_id);
  [[nodiscard]] bool contains(int32_t process_id) const;
  [[nodiscard]] int descriptor() const { return map_.get(); }

 private:
  FileDescriptor map_;
};

// The number of this process's pid namespace; 0: the machine's own.
[[nodiscard]] uint32_t own_pid_namespace();

// While one of these lives, what libbpf says on this thread is kept instead of printed. A verifier log is long: its last
// line that says something is what a person needs.
class LibbpfMessages {
 public:
  LibbpfMessages();
  ~LibbpfMessages();
  LibbpfMessages(const LibbpfMessages&) = delete;
  LibbpfMessages& operator=(const LibbpfMessages&) = delete;
  [[nodiscard]] std::string last() const;
};

// An Error (unavailable) for a BPF object that could not be opened, loaded or attached; `error` is a positive errno.
[[nodiscard]] Error bpf_error(const std::string& doing, const std::string& what, int error, const LibbpfMessages& said);

}  // namespace kvet::probes
