// What a row must fulfil, for the writer (which drops and counts what the reader would refuse) and for the reader (which
// trusts no file).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "store/enumerations.h"
#include "store/schema.h"

namespace kvet::store {

// How many rows there are that an id may point to.
struct KnownIds {
  uint32_t strings = 0, processes = 0, devices = 0, shapes = 0;
  [[nodiscard]] uint32_t of(StringId) const { return strings; }
  [[nodiscard]] uint32_t of(ProcessId) const { return processes; }
  [[nodiscard]] uint32_t of(DeviceId) const { return devices; }
  [[nodiscard]] uint32_t of(ShapeId) const { return shapes; }
};

enum class Fault : uint8_t { none, time, reference, value };

class RowChecker {
 public:
  explicit RowChecker(const KnownIds& known) : known_(known) {}

  [[nodiscard]] Fault fault() const { return fault_; }
  [[nodiscard]] std::string_view column() const { return column_; }
  [[nodiscard]] std::string_view reason() const { return reason_; }

  template <class I>
  void reference(std::string_view name, I id, std::string_view, std::string_view) {
    if (id.value >= known_.of(id)) {
      set(Fault::reference, name, "refers to a row that is not there");
    }
  }
  template <class I>
  void reference(std::string_view name, const std::optional<I>& id, std::string_view table, std::string_view prose) {
    if (id) {
      reference(name, *id, table, prose);
    }
  }
  template <class T>
  void integer(std::string_view name, T value, std::string_view) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (value > uint64_t{std::numeric_limits<int64_t>::max()}) {
        set(Fault::value, name, "is too large");
      }
    }
  }
  template <class T>
  void integer(std::string_view name, const std::optional<T>& value, std::string_view prose) {
    if (value) {
      integer(name, *value, prose);
    }
  }
  void bits(std::string_view, uint64_t, std::string_view) {}
  void real(std::string_view name, double value, std::string_view) {
    if (!(value >= 0 && value <= std::numeric_limits<double>::max())) {
      set(Fault::value, name, "is negative or not a number");
    }
  }
  void real(std::string_view name, const std::optional<double>& value, std::string_view prose) {
    if (value) {
      real(name, *value, prose);
    }
  }
  void signed_real(std::string_view name, double value, std::string_view) {
    if (!std::isfinite(value)) {
      set(Fault::value, name, "is not a number");
    }
  }
  void boolean(std::string_view, bool, std::string_view) {}
  void text(std::string_view name, const std::string& value, std::string_view) {
    if (value.size() > static_cast<size_t>(text_limit_bytes)) {
      set(Fault::value, name, "is longer than 1 MiB");
    }
  }
  template <class E>
  void enumeration(std::string_view name, E value, std::string_view) {
    constexpr int count = enumerators<E>();
    if (static_cast<int>(value) >= count) {
      set(Fault::value, name, "is not one of the known kinds");
    }
  }
  void identifier(std::string_view, const std::array<uint8_t, 16>&, std::string_view) {}
  void time(std::string_view name, int64_t value, std::string_view) {
    if (value < -time_limit_ns || value > time_limit_ns) {
      set(Fault::time, name, "is out of range");
    }
  }
  void time(std::string_view name, const std::optional<int64_t>& value, std::string_view prose) {
    if (value) {
      time(name, *value, prose);
    }
  }
  void interval(int64_t start, int64_t end, std::string_view prose) {
    time("start_ns", start, prose);
    time("start_ns + duration_ns", end, prose);
    if (end < start) {
      set(Fault::time, "duration_ns", "is negative: the end lies before the start");
    }
  }
  void within(std::string_view name, int64_t start, int64_t end, int64_t point, std::string_view) {
    if (point < start || point > end) {
      set(Fault::time, name, "lies outside the interval");
    }
  }
  void triple(std::string_view, const std::array<uint32_t, 3>&, std::string_view) {}

 private:
  void set(Fault fault, std::string_view column, std::string_view reason) {
    if (fault_ == Fault::none) {
      fault_ = fault;
      column_ = column;
      reason_ = reason;
    }
  }

  const KnownIds& known_;
  Fault fault_ = Fault::none;
  std::string_view column_, reason_;
};

}  // namespace kvet::store
