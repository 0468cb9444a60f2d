// CUPTI activity records to the fixed-size records and table entries of abi/records.h. Used by one thread at a time.
#pragma once

#include <cstdint>

#include "abi/records.h"
#include "abi/vendor/cupti_activity.h"
#include "inject/code_hash.h"
#include "inject/emitter.h"
#include "inject/losses.h"
#include "inject/markers.h"
#include "inject/shape_cache.h"
#include "inject/table.h"

namespace kvet::inject {

// The kind of a driver call by CUPTI's callback id, 0: none of ours.
uint16_t api_kind(uint32_t callback_id);

class Packer {
 public:
  constexpr Packer(TableWriter& table, Emitter& emitter, Losses& losses, const CodeHashes& hashes)
      : table_(table), emitter_(emitter), losses_(losses), hashes_(hashes) {}

  // Times outside [not_before, now] cannot be: they are quarantined like zero and inverted ones. Set per buffer.
  void set_time_range(uint64_t not_before_ns, uint64_t now_ns) {
    not_before_ns_ = not_before_ns;
    now_ns_ = now_ns;
  }

  void pack(const kvet_cupti_activity& record);

 private:
  void kernel(const kvet_cupti_kernel& record);
  void api(const kvet_cupti_api& record);
  void copy(const kvet_cupti_memcpy& record);
  void peer_copy(const kvet_cupti_memcpy_peer& record);
  void set(const kvet_cupti_memset& record);
  void device(const kvet_cupti_device& record);
  void context(const kvet_cupti_context& record);
  void marker(const kvet_cupti_marker& record);
  void overhead(const kvet_cupti_overhead& record);

  // False: quarantined and counted.
  bool plausible(uint64_t start_ns, uint64_t end_ns);
  uint32_t text(const char* name);

  TableWriter& table_;
  Emitter& emitter_;
  Losses& losses_;
  const CodeHashes& hashes_;
  OpenRanges ranges_;
  ShapeCache shapes_;
  static constexpr uint32_t remembered_devices = 64;
  uint64_t devices_[remembered_devices] = {};  // what was last said about each, as a hash: CUPTI repeats itself
  uint64_t not_before_ns_ = 0;
  uint64_t now_ns_ = UINT64_MAX;
};

}  // namespace kvet::inject
