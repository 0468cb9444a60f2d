#include "probes/counters/pm_image.h"

#include <algorithm>
#include <cstring>

#include "probes/counters/pm_parameters.h"

namespace kvet::probes {

namespace {
// As many as come between two decodings, twice.
constexpr uint32_t pristine_samples = 1'024;
}  // namespace

int PmImage::make(const PmLibrary& library, void* sampling, const std::vector<const char*>& metrics, uint32_t samples) {
  std::vector<const char*> names = metrics;
  KVET_PM_PARAMETERS(kvet_pm_image_size, image_size, size);
  size.sampling = sampling;
  size.metrics = names.data();
  size.metric_count = names.size();
  size.max_samples = samples / 2;
  const size_t half = library.get_image_size(&size) == KVET_PM_SUCCESS ? size.image_size : 0;
  size.max_samples = samples;
  step_ = "cuptiPmSamplingGetCounterDataSize";
  if (int code = library.get_image_size(&size); code != KVET_PM_SUCCESS) {
    return code;
  }
  capacity_ = samples;
  bytes_per_sample_ = half > 0 && half < size.image_size ? (size.image_size - half) / (samples - samples / 2) : 0;
  bytes_.assign(size.image_size, 0);
  if (int code = initialize(library, sampling); code != KVET_PM_SUCCESS) {
    return code;
  }
  pristine_.assign(bytes_.begin(),
                   bytes_.begin() + static_cast<ptrdiff_t>(used_bytes(std::min(samples / 2, pristine_samples))));
  copy_back_ = bytes_per_sample_ > 0;
  resets_to_check_ = 3;
  return KVET_PM_SUCCESS;
}

int PmImage::initialize(const PmLibrary& library, void* sampling) {
  step_ = "cuptiPmSamplingCounterDataImageInitialize";
  KVET_PM_PARAMETERS(kvet_pm_image_initialize, image, initialize);
  initialize.sampling = sampling;
  initialize.image_size = bytes_.size();
  initialize.image = bytes_.data();
  return library.image_initialize(&initialize);
}

int PmImage::reset(const PmLibrary& library, void* sampling, size_t begun_samples) {
  const size_t used = used_bytes(begun_samples);
  if (!copy_back_ || used > pristine_.size()) {
    return initialize(library, sampling);
  }
  std::memcpy(bytes_.data(), pristine_.data(), used);
  if (resets_to_check_ > 0) {
    --resets_to_check_;
    const std::vector<uint8_t> copied = bytes_;
    if (int code = initialize(library, sampling); code != KVET_PM_SUCCESS) {
      return code;
    }
    copy_back_ = copied == bytes_;
  }
  return KVET_PM_SUCCESS;
}

// Samples lie at the end of the image, one after the other, behind tables whose size depends on the capacity alone. A few
// samples more than were begun cover what the tables take of the average.
size_t PmImage::used_bytes(size_t begun_samples) const {
  constexpr size_t margin = 4;
  const size_t unused = capacity_ - std::min<size_t>(capacity_, begun_samples + margin);
  return bytes_.size() - std::min(bytes_.size(), unused * bytes_per_sample_);
}

}  // namespace kvet::probes
