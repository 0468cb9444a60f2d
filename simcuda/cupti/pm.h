// What the two halves of performance-monitor sampling share: the images that pass through the client's hands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/engine.h"
#include "device/shared_world.h"

namespace simcuda::cupti {

inline constexpr uint32_t config_magic = 0x63666731, image_magic = 0x696d6731;

// A counter-data image: a header and room for so many samples.
struct ImageHeader {
  uint32_t magic;
  uint32_t samples, most;
  uint32_t reserved;
};
struct ImageSample {
  uint64_t start, end;  // on the counters' clock
  double length_ns;
  Totals totals;
};

inline const ImageHeader* image_header(const uint8_t* image, size_t size) {
  const auto* header = reinterpret_cast<const ImageHeader*>(image);
  bool fine = image != nullptr && size >= sizeof(ImageHeader) && header->magic == image_magic &&
              size >= sizeof(ImageHeader) + header->most * sizeof(ImageSample);
  return fine ? header : nullptr;
}
inline const ImageSample* image_samples(const ImageHeader* header) {
  return reinterpret_cast<const ImageSample*>(header + 1);
}
inline ImageSample* image_samples(ImageHeader* header) { return reinterpret_cast<ImageSample*>(header + 1); }

bool read_config(const uint8_t* image, size_t size, std::vector<uint32_t>& metrics);
int counters_refusal();

}  // namespace simcuda::cupti
