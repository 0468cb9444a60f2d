// nvbench: what a benchmark writes with --json. https://github.com/NVIDIA/nvbench (nvbench/json_printer.cu): states hold summaries,
// whose values are texts. "nv/cold/time/gpu/mean" is in seconds: one call with L2 flushed before.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "import/claims/result_file.h"

namespace kvet::importing::formats {
namespace {

constexpr std::string_view mean_tag = "nv/cold/time/gpu/mean";

std::map<double, std::string> devices_of(const JsonValue& root) {
  std::map<double, std::string> names;
  for (const JsonValue& device : root["devices"].elements) {
    if (device["id"].is_number()) {
      names[device["id"].number] = device["name"].string();
    }
  }
  return names;
}

// The text or number under "value" of a summary.
std::optional<double> value_of(const JsonValue& summary) {
  for (const JsonValue& datum : summary["data"].elements) {
    if (datum["name"].string() != "value") {
      continue;
    }
    const JsonValue& value = datum["value"];
    if (value.is_number()) {
      return value.number;
    }
    double number = 0;
    const std::string_view text = value.string();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

bool is_nvbench(const JsonValue& root) {
  const JsonValue& benchmarks = root["benchmarks"];
  if (!benchmarks.is_array()) {
    return false;
  }
  return benchmarks.elements.empty() ? root["devices"].is_array() : benchmarks.elements.front()["states"].is_array();
}

Result<void> add_nvbench(const JsonValue& root, ResultFile& into) {
  const std::map<double, std::string> devices = devices_of(root);
  const auto& benchmarks = root["benchmarks"].elements;
  for (size_t b = 0; b < benchmarks.size(); ++b) {
    const std::string_view benchmark = benchmarks[b]["name"].string();
    const auto& states = benchmarks[b]["states"].elements;
    for (size_t s = 0; s < states.size(); ++s) {
      const JsonValue& state = states[s];
      ResultRow row;
      row.id = fmt::format("{}/{}", benchmark, state["name"].string());
      row.aliases = {std::string(state["name"].string())};
      if (states.size() == 1) {
        row.aliases.emplace_back(benchmark);
      }
      row.where = fmt::format("benchmarks[{}].states[{}]", b, s);
      if (const auto device = devices.find(state["device"].number);
          state["device"].is_number() && device != devices.end()) {
        row.device = device->second;
      }
      const auto& summaries = state["summaries"].elements;
      const auto mean =
          std::ranges::find_if(summaries, [](const JsonValue& one) { return one["tag"].string() == mean_tag; });
      if (state["is_skipped"].truth) {
        note_problem(row, "the state was skipped");
      } else if (mean == summaries.end()) {
        note_problem(row, fmt::format("it has no summary {}", mean_tag));
      } else if (const auto value = value_of(*mean)) {
        take_positive(row, *value, mean_tag, 1e9, row.candidate_ns);
      } else {
        note_problem(row, fmt::format("{} is not a number", mean_tag));
      }
      if (auto added = add_row(into, std::move(row)); !added) {
        return added;
      }
    }
  }
  return {};
}

}  // namespace kvet::importing::formats
