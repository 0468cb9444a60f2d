// How one host's clock relates to another's, from the collectives that both took part in.
//
// All ranks of an all-reduce end together, within a step of the last transfer: the n-th collective of a communicator is one
// moment, seen by both clocks. The differences of these ends, over a recording, are a line: an offset and a drift.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/capture.h"

namespace kvet::merge {

// One capture's view of the operations on one communicator (or of one node of replayed graphs): their ends, in order.
struct SharedSequence {
  std::string key;  // the same on every host
  bool from_the_first =
      false;  // its communicator was made while the recording ran: the first here is its first operation
  struct Element {
    int64_t end_ns = 0;
    uint64_t what = 0;  // kind and size: differs where the operations cannot be the same
    bool executed = false;
    bool all_depend = false;
  };
  std::vector<Element> elements;
};
// Of the rank with most operations in each sequence.
[[nodiscard]] std::vector<SharedSequence> shared_sequences(const Capture& capture);

// time of the reference = time − offset − drift × (time − from).
struct HostClock {
  int64_t offset_ns = 0;
  int64_t from_ns = 0;
  double drift = 0;
  uint64_t collectives = 0;  // that fixed it; 0: of the reference itself, or of the same boot
  std::optional<int64_t> residual_ns;  // median |difference of ends| that is left
  std::optional<int64_t> residual_p95_ns;  // 95th percentile of the same
  // Times that a capture cannot hold become the last one that an int64_t can: its reader and writer refuse them.
  [[nodiscard]] int64_t to_reference(int64_t time_ns) const;
};

// a − b, or the nearest that an int64_t can hold: clocks of strangers' files may be centuries apart.
[[nodiscard]] int64_t difference(int64_t a, int64_t b);

// `expected_ns`: what the hosts' wall clocks say `host` is ahead of `reference`; empty: unknown. It only decides between
// numberings that fit alike. Empty: no collective links them, or no numbering makes their ends meet.
[[nodiscard]] std::optional<HostClock> align(const std::vector<SharedSequence>& reference,
                                             const std::vector<SharedSequence>& host,
                                             std::optional<int64_t> expected_ns);

}  // namespace kvet::merge
