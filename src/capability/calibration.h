// What `kvet doctor --calibrate` measured of a GPU's DRAM, and the file that keeps it: one per device, named after its UUID.
//
// A file is text, "key = value" a line, and may have been edited or planted by anybody: whatever is not as this program writes
// it is ignored with a sentence.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvet::capability {

// The names of what was measured, as keys of the file and of a capture's facts (calibration.dram.UUID.NAME).
inline constexpr std::array<std::string_view, 5> calibrated_rates = {"read", "write", "read_write_1_1",
                                                                     "read_write_2_1", "random_sectors"};

// Bytes per second, both directions together.
struct CalibratedRate {
  uint64_t best = 0;  // over all rounds and launch shapes: what can be reached
  uint64_t median = 0, lowest = 0;
  uint64_t by_globaltimer = 0;  // the best round by the GPU's own timer; 0: not measured
  uint64_t blocks_per_multiprocessor = 0, threads = 0, rounds = 0;
};

struct Calibration {
  std::string uuid;  // 32 lower-case hexadecimal digits
  std::string name;  // "NVIDIA H200"
  std::string driver_version, kvet_version;
  std::string time;  // "2026-11-30T22:00:00Z"
  uint64_t power_limit_mw = 0, memory_clock_mhz = 0;  // 0: not known
  uint64_t peak_bytes_per_second = 0;  // theoretical; 0: not known
  uint64_t buffer_bytes = 0;
  std::array<CalibratedRate, calibrated_rates.size()> rates;  // in the order of calibrated_rates
  std::vector<std::string> notes;  // what makes a figure doubtful
};

[[nodiscard]] std::string calibration_text(const Calibration& calibration);
// `subject` names the text in messages.
Result<Calibration> parse_calibration(std::string_view text, const std::string& subject);

// "2026-11-30T22:00:00Z" → seconds since 1970, and back. Empty (or -1) where it is no such time.
[[nodiscard]] int64_t seconds_of(std::string_view time);
[[nodiscard]] std::string time_text(int64_t seconds);

// Where files are looked for; the first is the one that is written to: kvet's folder in the cache of the person who called it
// (also under sudo), else, for root, /var/cache/kvet.
[[nodiscard]] std::vector<std::string> calibration_folders();

// Atomically, with the rights of the person who called kvet. Returns the path.
Result<std::string> store_calibration(const Calibration& calibration, const std::string& folder);

struct FoundCalibration {
  std::string path;
  std::string uuid;  // as the file's name says
  Calibration calibration;  // only where `ignored` is empty
  std::string ignored;  // why it does not count: a sentence; empty: it does
};
// One per device: what counts before what does not, the newest first. `driver_version` is the one that runs; empty: not compared.
[[nodiscard]] std::vector<FoundCalibration> find_calibrations(const std::vector<std::string>& folders,
                                                              std::string_view driver_version);

}  // namespace kvet::capability
