// A calibration as text and back.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <functional>
#include <map>
#include <optional>

#include "base/text.h"
#include "capability/calibration.h"

namespace kvet::capability {

namespace {

constexpr size_t longest_string = 256, most_notes = 16;
// Beyond what any memory gives (a GPU of 2026 has 8 TB/s) or could have been meant.
constexpr uint64_t largest_rate = 1'000'000'000'000'000, smallest_rate = 1'000'000;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, longest_string)) {
    const auto byte = static_cast<unsigned char>(c);
    out += c == '"' || c == '\\' || byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return out + '"';
}

std::optional<std::string> unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"' || text.size() > longest_string + 2) {
    return std::nullopt;
  }
  text = text.substr(1, text.size() - 2);
  const bool plain = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
  return plain ? std::optional(std::string(text)) : std::nullopt;
}

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

struct Fields {
  std::map<std::string, std::string*, std::less<>> strings;
  std::map<std::string, uint64_t*, std::less<>> numbers;
};

Fields fields_of(Calibration& calibration) {
  Fields fields;
  fields.strings = {{"uuid", &calibration.uuid},
                    {"name", &calibration.name},
                    {"driver_version", &calibration.driver_version},
                    {"kvet_version", &calibration.kvet_version},
                    {"time", &calibration.time}};
  fields.numbers = {{"power_limit_mw", &calibration.power_limit_mw},
                    {"memory_clock_mhz", &calibration.memory_clock_mhz},
                    {"peak_bytes_per_second", &calibration.peak_bytes_per_second},
                    {"buffer_bytes", &calibration.buffer_bytes}};
  for (size_t i = 0; i < calibrated_rates.size(); ++i) {
    const std::string prefix = std::string(calibrated_rates[i]) + '.';
    CalibratedRate& rate = calibration.rates[i];
    fields.numbers[prefix + "bytes_per_second"] = &rate.best;
    fields.numbers[prefix + "median_bytes_per_second"] = &rate.median;
    fields.numbers[prefix + "lowest_bytes_per_second"] = &rate.lowest;
    fields.numbers[prefix + "globaltimer_bytes_per_second"] = &rate.by_globaltimer;
    fields.numbers[prefix + "blocks_per_multiprocessor"] = &rate.blocks_per_multiprocessor;
    fields.numbers[prefix + "threads"] = &rate.threads;
    fields.numbers[prefix + "rounds"] = &rate.rounds;
  }
  return fields;
}

bool plausible(uint64_t rate) { return rate >= smallest_rate && rate <= largest_rate; }

// What is wrong with the values; empty where nothing is.
std::string fault(const Calibration& calibration) {
  if (calibration.uuid.size() != 32 || calibration.uuid.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return "it has no UUID";
  }
  if (calibration.driver_version.empty()) {
    return "it does not say with which driver it was made";
  }
  if (seconds_of(calibration.time) < 0) {
    return "it does not say when it was made";
  }
  if (calibration.peak_bytes_per_second != 0 && !plausible(calibration.peak_bytes_per_second)) {
    return "its peak cannot be";
  }
  for (size_t i = 0; i < calibrated_rates.size(); ++i) {
    const CalibratedRate& rate = calibration.rates[i];
    if (!plausible(rate.best) || rate.lowest == 0 || rate.lowest > rate.median || rate.median > rate.best ||
        rate.by_globaltimer > largest_rate) {
      return fmt::format("its figures for {} cannot be", calibrated_rates[i]);
    }
  }
  return {};
}

}  // namespace

std::string calibration_text(const Calibration& calibration) {
  Calibration copy = calibration;  // the fields are named once, for reading and for writing
  const Fields fields = fields_of(copy);
  std::string out =
      "# What this GPU's DRAM gives, measured by `kvet doctor --calibrate`. May be deleted.\n"
      "format = 1\n";
  for (const auto& [key, value] : fields.strings) {
    out += fmt::format("{} = {}\n", key, quoted(*value));
  }
  for (const auto& [key, value] : fields.numbers) {
    out += fmt::format("{} = {}\n", key, *value);
  }
  for (size_t i = 0; i < std::min(calibration.notes.size(), most_notes); ++i) {
    out += fmt::format("note = {}\n", quoted(calibration.notes[i]));
  }
  return out;
}

Result<Calibration> parse_calibration(std::string_view text, const std::string& subject) {
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorKind::bad_input, "not a calibration: " + why, subject, "Run kvet doctor --calibrate again");
  };
  Calibration calibration;
  Fields fields = fields_of(calibration);
  bool has_format = false;
  size_t line_number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++line_number;
    line = trimmed(line);
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return refuse(fmt::format("line {} is no \"key = value\"", line_number));
    }
    const std::string_view key = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
    if (key == "format") {
      if (value != "1") {
        return refuse("it has another format than this kvet writes");
      }
      has_format = true;
    } else if (const auto field = fields.strings.find(key); field != fields.strings.end() || key == "note") {
      auto content = unquoted(value);
      if (!content) {
        return refuse(fmt::format("line {} has no text in quotation marks", line_number));
      }
      if (field != fields.strings.end()) {
        *field->second = std::move(*content);
      } else if (calibration.notes.size() < most_notes) {
        calibration.notes.push_back(std::move(*content));
      }
    } else if (const auto known = fields.numbers.find(key); known != fields.numbers.end()) {
      const auto content = number(value);
      if (!content) {
        return refuse(fmt::format("line {} has no whole number", line_number));
      }
      *known->second = *content;
    }  // a later version may say more
  }
  if (!has_format) {
    return refuse("it does not say its format");
  }
  if (const std::string wrong = fault(calibration); !wrong.empty()) {
    return refuse(wrong);
  }
  return calibration;
}

int64_t seconds_of(std::string_view time) {
  // YYYY-MM-DDTHH:MM:SSZ
  constexpr std::string_view form = "dddd-dd-ddTdd:dd:ddZ";
  if (time.size() != form.size()) {
    return -1;
  }
  for (size_t i = 0; i < form.size(); ++i) {
    const bool fits = form[i] == 'd' ? time[i] >= '0' && time[i] <= '9' : time[i] == form[i];
    if (!fits) {
      return -1;
    }
  }
  const auto at = [&](size_t from, size_t length) { return static_cast<int>(*number(time.substr(from, length))); };
  std::tm broken{};
  broken.tm_year = at(0, 4) - 1900;
  broken.tm_mon = at(5, 2) - 1;
  broken.tm_mday = at(8, 2);
  broken.tm_hour = at(11, 2);
  broken.tm_min = at(14, 2);
  broken.tm_sec = at(17, 2);
  const int64_t seconds = ::timegm(&broken);
  return time_text(seconds) == time ? seconds : -1;  // 2026-02-31 comes back as another day
}

std::string time_text(int64_t seconds) {
  std::tm broken{};
  const std::time_t value = seconds;
  if (::gmtime_r(&value, &broken) == nullptr) {
    return {};
  }
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", broken.tm_year + 1900, broken.tm_mon + 1, broken.tm_mday,
                     broken.tm_hour, broken.tm_min, broken.tm_sec);
}

}  // namespace kvet::capability
