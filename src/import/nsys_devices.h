// The GPUs of an export: which one a process means by a CUDA ordinal, and what is known of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "import/entities.h"
#include "import/nsys_file.h"
#include "model/event_sink.h"

namespace kvet::importing {

class NsysDevices {
 public:
  static Result<NsysDevices> read(const NsysFile& file, EventSink& sink, Entities& entities);

  // The device that the process calls `ordinal`. Empty: more devices than a machine has.
  std::optional<DeviceId> of(uint32_t machine, int32_t pid, uint32_t ordinal);

  // GPUs that the file describes.
  [[nodiscard]] size_t described() const { return gpus_.size(); }
  // What TARGET_INFO_GPU says of a GPU, by its id there.
  [[nodiscard]] const Device* facts(uint32_t machine, int64_t gpu) const;
  std::optional<DeviceId> of_gpu(uint32_t machine, int64_t gpu);

 private:
  struct Gpu {
    Device facts;
    std::optional<int64_t> ordinal;  // among CUDA's devices
    std::optional<DeviceId> id;      // once something ran on it
  };
  using Key = std::pair<uint32_t, int64_t>;  // machine, GPU

  NsysDevices(const NsysFile& file, Entities& entities) : place_(file.path()), entities_(&entities) {}
  Result<void> read_gpus(const NsysFile& file, EventSink& sink);
  Result<void> read_ordinals(const NsysFile& file);
  std::optional<Key> find(uint32_t machine, int32_t pid, uint32_t ordinal) const;

  std::string place_;
  Entities* entities_;
  std::map<Key, Gpu> gpus_;
  std::map<std::pair<int32_t, int64_t>, int64_t> gpu_of_;  // (process, ordinal) to GPU
  std::map<std::pair<uint32_t, uint32_t>, DeviceId> unknown_;  // (machine, ordinal) of GPUs that are not described
};

}  // namespace kvet::importing
