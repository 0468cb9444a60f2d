#include "verdict/launches.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace kvet::verdict {
namespace {

uint64_t key_of(ProcessId process, uint32_t correlation_id) { return (uint64_t{process.value} << 32) | correlation_id; }

template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

LaunchIndex::LaunchIndex(const Capture& capture) : capture_(capture) {
  for (size_t i = 0; i < capture.api_calls.size(); ++i) {
    const ApiCall& call = capture.api_calls[i];
    if (call.correlation_id != 0 && (is_kernel_launch(call.kind) || call.kind == ApiKind::launch_graph)) {
      entries_.push_back({key_of(call.process, call.correlation_id), static_cast<uint32_t>(i)});
    }
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
}

const ApiCall* LaunchIndex::find(ProcessId process, uint32_t correlation_id) const {
  uint64_t key = key_of(process, correlation_id);
  auto found =
      std::lower_bound(entries_.begin(), entries_.end(), key, [](const Entry& a, uint64_t b) { return a.key < b; });
  return found != entries_.end() && found->key == key ? &capture_.api_calls[found->call] : nullptr;
}

std::optional<int64_t> whole_fact(const Capture& capture, std::string_view key) {
  return parsed<int64_t>(capture.fact(key));
}

std::optional<double> number_fact(const Capture& capture, std::string_view key) {
  auto value = parsed<double>(capture.fact(key));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Window window_of(const Capture& capture) {
  auto from = whole_fact(capture, "window.from_ns"), to = whole_fact(capture, "window.to_ns");
  Window window{{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}, false};
  if (from && to && *from < *to) {
    window = {{*from, *to}, true};
  }
  return window;
}

}  // namespace kvet::verdict
