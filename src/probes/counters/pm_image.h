// The buffer that CUPTI decodes samples into (its "counter data image"), and how it is emptied cheaply.
//
// CUPTI appends samples. An image that runs full, or is emptied while a sample in it waits for some unit's counts, loses
// samples: 20 ms of them at 100 µs on an H200. One with fifteen metrics takes 32 KB a sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "probes/counters/vendor_libraries.h"

namespace kvet::probes {

class PmImage {
 public:
  // Makes an empty image for up to `samples` samples of these metrics; the session must be configured for them. Gives back
  // CUPTI's result; `step` then names the call that failed.
  int make(const PmLibrary& library, void* sampling, const std::vector<const char*>& metrics, uint32_t samples);
  // Empties it. Where little of it was used, copying back what these samples changed takes a fraction of
  // initialising all of it; the first times it is checked that the copied part is then as CUPTI makes it, else CUPTI does it
  // every time.
  int reset(const PmLibrary& library, void* sampling, size_t begun_samples);

  [[nodiscard]] uint8_t* data() { return bytes_.data(); }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] uint32_t capacity() const { return capacity_; }
  [[nodiscard]] const char* step() const { return step_; }

 private:
  int initialize(const PmLibrary& library, void* sampling);
  [[nodiscard]] size_t used_bytes(size_t begun_samples) const;
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t> pristine_;  // as CUPTI initialised it, as far as a few hundred samples change it
  uint32_t capacity_ = 0;
  size_t bytes_per_sample_ = 0;
  uint32_t resets_to_check_ = 0;
  bool copy_back_ = false;
  const char* step_ = "";
};

}  // namespace kvet::probes
