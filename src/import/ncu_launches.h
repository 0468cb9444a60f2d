// Collects (metric, unit, value) of Nsight Compute's rows into launches.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "import/locale_number.h"
#include "import/ncu_metrics.h"
#include "import/ncu_table.h"
#include "model/isolated_counters.h"

namespace kvet::importing {

class NcuLaunches {
 public:
  NcuLaunches(std::string path, char decimal) : path_(std::move(path)), decimal_(decimal) {}

  // The launch that this row is about: the one before, or a new one.
  Result<void> begin(const NcuTable& row);
  Result<void> add(std::string_view metric, std::string_view unit, std::string_view text, size_t line);
  Result<IsolatedProfile> finish() &&;

 private:
  struct Value {
    double value = 0;
    size_t metric = 0;  // index into ncu_metrics()
    size_t line = 0;
  };
  // (part, process, id)
  using Key = std::tuple<uint64_t, std::string, std::string>;

  [[nodiscard]] std::string where(size_t line) const;
  Result<void> close();
  uint32_t kernel_index(std::string_view name);
  uint32_t device_index(const IsolatedDevice& device);
  [[nodiscard]] std::optional<IsolatedValue> figure(NcuFigure figure) const;

  std::string path_;
  char decimal_;
  IsolatedProfile profile_;
  std::map<std::string, uint32_t, std::less<>> kernels_;
  std::set<Key> seen_;
  Key key_;
  bool open_ = false;
  IsolatedLaunch launch_;
  IsolatedDevice device_;
  std::array<std::optional<Value>, ncu_figures> values_;
};

}  // namespace kvet::importing
