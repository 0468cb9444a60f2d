// kvet __sampler (hidden): the child process of the recorder that samples hardware counters.
#include "probes/counters/sampler.h"

#include <fmt/core.h>

#include <charconv>

#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/sampler_check.h"

namespace kvet::cli {
namespace {

std::unexpected<Error> wrong(const std::string& what) {
  return fail(ErrorKind::usage, what, "__sampler", "This command is started by `kvet record`, not by hand");
}

template <class Number>
bool parse_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_uuid(const std::string& text, probes::DeviceDirectory::Uuid& uuid) {
  if (text.size() != 2 * uuid.size()) {
    return false;
  }
  for (size_t index = 0; index < uuid.size(); ++index) {
    const char* digits = text.data() + 2 * index;
    const auto [end, error] = std::from_chars(digits, digits + 2, uuid[index], 16);
    if (error != std::errc() || end != digits + 2) {
      return false;
    }
  }
  return true;
}

Result<probes::SamplerArguments> parse(const std::vector<std::string>& words) {
  probes::SamplerArguments arguments;
  for (size_t index = 0; index + 1 < words.size(); index += 2) {
    const std::string& option = words[index];
    const std::string& value = words[index + 1];
    bool good = true;
    if (option == "--mode") {
      good = false;
      for (auto mode : {probes::CounterMode::performance_monitor, probes::CounterMode::gpm, probes::CounterMode::off}) {
        if (value == probes::name(mode)) {
          arguments.mode = mode;
          good = true;
        }
      }
    } else if (option == "--interval-ns") {
      good = parse_number(value, arguments.interval_ns) && arguments.interval_ns > 0;
    } else if (option == "--detail") {
      good = value == "yes" || value == "no";
      arguments.detail = value == "yes";
    } else if (option == "--burst-interval-ns") {
      good = parse_number(value, arguments.bursts.interval_ns) && arguments.bursts.interval_ns > 0;
    } else if (option == "--burst-length-ns") {
      good = parse_number(value, arguments.bursts.length_ns);
    } else if (option == "--burst-period-ns") {
      good = parse_number(value, arguments.bursts.period_ns);
    } else if (option == "--data-descriptor") {
      good = parse_number(value, arguments.data_descriptor);
    } else if (option == "--control-descriptor") {
      good = parse_number(value, arguments.control_descriptor);
    } else if (option == "--library") {
      arguments.library_paths.push_back(value);
    } else if (option == "--device") {
      good = parse_uuid(value, arguments.devices.emplace_back());
    } else if (option == "--pulses") {
      good = value == "yes" || value == "no";
      arguments.pulses = value == "yes";
    } else if (option == "--gpm-cross-check") {
      good = value == "yes" || value == "no";
      arguments.gpm_cross_check = value == "yes";
    } else {
      return wrong("unknown option " + option);
    }
    if (!good) {
      return wrong(fmt::format("wrong value of {}: {}", option, value));
    }
  }
  if (words.size() % 2 != 0) {
    return wrong("an option without a value: " + words.back());
  }
  if (arguments.data_descriptor < 0 || arguments.control_descriptor < 0) {
    return wrong("the pipes to the recorder are missing");
  }
  return arguments;
}

}  // namespace

int run_sampler(const InternalOptions& options) {
  if (!options.arguments.empty() && options.arguments.front() == "--csv") {
    return check_sampler(options);
  }
  auto arguments = parse(options.arguments);
  if (!arguments) {
    return report_error(arguments.error());
  }
  probes::run_sampler(*arguments);
}

}  // namespace kvet::cli
