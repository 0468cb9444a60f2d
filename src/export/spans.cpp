#include "export/spans.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "export/device_metrics.h"
#include "store/enumerations.h"

namespace kvet::exporting {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads bits, so different inputs give different ids.
uint64_t mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// What the capture is called: its facts, so two recordings have different ids, and one file the same each time.
uint64_t identity_of(const Capture& capture) {
  uint64_t hash = 0;
  const auto add = [&](std::string_view text) {
    for (const char letter : text) {
      hash = mixed(hash ^ static_cast<uint8_t>(letter));
    }
    hash = mixed(hash ^ 0x100);
  };
  for (const auto& [key, value] : capture.meta) {
    add(key);
    add(value);
  }
  return hash;
}

enum class Of : uint64_t { trace_high = 1, trace_low, step, launch, execution, collective };

bool launches_work(ApiKind kind) {
  return kind == ApiKind::launch_kernel || kind == ApiKind::launch_cooperative || kind == ApiKind::launch_graph;
}

// 0 is what lies in no step; step i is i + 1.
struct Place {
  uint32_t process = 0;
  uint64_t step = 0;
  [[nodiscard]] uint64_t number() const { return uint64_t{process} << 40 | step; }
};

class Spans {
 public:
  Spans(const SpansSource& source, const std::function<bool(const Span&)>& take)
      : source_(source), capture_(*source.capture), take_(take), identity_(identity_of(capture_)) {
    index_launches();
    for (uint32_t id = 0; id < capture_.devices.size(); ++id) {
      hardware_.push_back(hardware_id(capture_, DeviceId{id}));
    }
  }

  void all() { (void)(steps() && launches() && executions() && collectives()); }

 private:
  [[nodiscard]] uint64_t id(Of what, uint64_t number) const {
    const uint64_t hash = mixed(mixed(identity_ ^ static_cast<uint64_t>(what) << 56) ^ number);
    return hash != 0 ? hash : 1;  // all zeroes would be no id
  }
  static void put(uint64_t value, uint8_t* bytes) {
    for (int index = 0; index < 8; ++index) {
      bytes[index] = static_cast<uint8_t>(value >> (56 - 8 * index));
    }
  }
  [[nodiscard]] std::array<uint8_t, 8> span_id(Of what, uint64_t number) const {
    std::array<uint8_t, 8> bytes{};
    put(id(what, number), bytes.data());
    return bytes;
  }
  [[nodiscard]] Span span(Of what, uint64_t number, Place place, int64_t start_ns, int64_t end_ns) const {
    Span out;
    put(id(Of::trace_high, place.number()), out.trace_id.data());
    put(id(Of::trace_low, place.number()), out.trace_id.data() + 8);
    out.span_id = span_id(what, number);
    out.start_ns = start_ns;
    out.end_ns = std::max(start_ns, end_ns);
    out.process = {place.process};
    return out;
  }

  [[nodiscard]] Place place_at(ProcessId process, int64_t time_ns) const {
    const auto of = source_.steps.spans.find(process.value);
    if (of == source_.steps.spans.end()) {
      return {process.value, 0};
    }
    const auto& spans = of->second;
    const auto after = std::upper_bound(spans.begin(), spans.end(), time_ns,
                                        [](int64_t time, const auto& each) { return time < each.first; });
    const bool inside = after != spans.begin() && time_ns < std::prev(after)->second;
    return {process.value, inside ? static_cast<uint64_t>(after - spans.begin()) : 0};
  }

  static uint64_t key(ProcessId process, uint32_t correlation_id) {
    return uint64_t{process.value} << 32 | correlation_id;
  }

  // Which launch an execution is from; and, where steps are times on the device, when the first of a launch began.
  void index_launches() {
    for (size_t index = 0; index < capture_.api_calls.size(); ++index) {
      const ApiCall& call = capture_.api_calls[index];
      if (launches_work(call.kind) && call.correlation_id != 0) {
        launch_of_.emplace(key(call.process, call.correlation_id), index);
      }
    }
    if (!source_.steps.host_time) {
      for (const Execution& execution : capture_.executions) {
        if (execution.correlation_id != 0) {
          first_start_.emplace(key(execution.process, execution.correlation_id), execution.start_ns);
        }
      }
    }
  }

  [[nodiscard]] Place place_of(const ApiCall& call) const {
    if (const auto first = first_start_.find(key(call.process, call.correlation_id)); first != first_start_.end()) {
      return place_at(call.process, first->second);
    }
    return place_at(call.process, call.start_ns);
  }

  // The roots. What is in no step goes under a span as long as everything of its process.
  bool steps() {
    for (const auto& [process, spans] : source_.steps.spans) {
      for (size_t index = 0; index < spans.size(); ++index) {
        const Place place{process, index + 1};
        Span root = span(Of::step, place.number(), place, spans[index].first, spans[index].second);
        root.name = "step";
        root.numbers.emplace_back("kvet.step", static_cast<int64_t>(index));
        if (!take_(root)) {
          return false;
        }
      }
    }
    std::map<uint32_t, std::pair<int64_t, int64_t>> ends;
    const auto see = [&](const auto& rows) {
      for (const auto& row : rows) {
        auto [found, is_new] = ends.try_emplace(row.process.value, row.start_ns, row.end_ns);
        found->second = {std::min(found->second.first, row.start_ns), std::max(found->second.second, row.end_ns)};
      }
    };
    see(capture_.api_calls);
    see(capture_.executions);
    see(capture_.collective_calls);
    return std::all_of(ends.begin(), ends.end(), [&](const auto& entry) {
      const Place place{entry.first, 0};
      Span root = span(Of::step, place.number(), place, entry.second.first, entry.second.second);
      root.name = "outside steps";
      return take_(root);
    });
  }

  bool launches() {
    for (size_t index = 0; index < capture_.api_calls.size(); ++index) {
      const ApiCall& call = capture_.api_calls[index];
      if (!launches_work(call.kind)) {
        continue;
      }
      const Place place = place_of(call);
      Span out = span(Of::launch, index, place, call.start_ns, call.end_ns);
      out.parent = span_id(Of::step, place.number());
      out.name = store::enumerator(call.kind);
      out.kind = SpanKind::producer;
      out.failed = call.result;
      out.numbers = {{"thread.id", call.thread_id}, {"kvet.correlation_id", call.correlation_id}};
      if (call.captured) {
        out.numbers.emplace_back("kvet.captured", 1);
      }
      if (!take_(out)) {
        return false;
      }
    }
    return true;
  }

  bool executions() {
    for (size_t index = 0; index < capture_.executions.size(); ++index) {
      const Execution& execution = capture_.executions[index];
      const auto launch = execution.correlation_id == 0
                              ? launch_of_.end()
                              : launch_of_.find(key(execution.process, execution.correlation_id));
      const bool known = launch != launch_of_.end();
      const Place place =
          known ? place_of(capture_.api_calls[launch->second]) : place_at(execution.process, execution.start_ns);
      Span out = span(Of::execution, index, place, execution.start_ns, execution.end_ns);
      out.parent = known ? span_id(Of::launch, launch->second) : span_id(Of::step, place.number());
      const std::string& raw = capture_.kernel_name(execution.shape);
      auto& label = labels_[capture_.shapes[execution.shape.value].name];
      if (label.empty()) {
        label = source_.label(raw);
      }
      out.name = label;
      out.kind = SpanKind::consumer;
      out.texts = {{"hw.id", hardware_[execution.device.value]}};
      out.numbers = {{"kvet.context", execution.context_id},
                     {"kvet.stream", execution.stream_id},
                     {"kvet.correlation_id", execution.correlation_id}};
      if (execution.graph_node_id != 0) {
        out.numbers.emplace_back("kvet.graph", execution.graph_id);
        out.texts.emplace_back("kvet.graph_node", fmt::format("{:#x}", execution.graph_node_id));
      }
      if (!take_(out)) {
        return false;
      }
    }
    return true;
  }

  bool collectives() {
    for (size_t index = 0; index < capture_.collective_calls.size(); ++index) {
      const CollectiveCall& call = capture_.collective_calls[index];
      const Place place = place_at(call.process, call.start_ns);
      Span out = span(Of::collective, index, place, call.start_ns, call.end_ns);
      out.parent = span_id(Of::step, place.number());
      out.name = store::enumerator(call.kind);
      out.failed = call.result;
      // 64 bits without a sign do not fit into OTLP's integers; no collective has that many elements.
      constexpr auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      out.numbers = {{"thread.id", call.thread_id},
                     {"kvet.element_count", static_cast<int64_t>(std::min(call.count, most))}};
      out.texts = {{"kvet.communicator", fmt::format("{:#x}", call.communicator)}};
      if (!take_(out)) {
        return false;
      }
    }
    return true;
  }

  const SpansSource& source_;
  const Capture& capture_;
  const std::function<bool(const Span&)>& take_;
  uint64_t identity_;
  std::unordered_map<uint64_t, size_t> launch_of_;
  std::unordered_map<uint64_t, int64_t> first_start_;
  std::unordered_map<StringId, std::string> labels_;
  std::vector<std::string> hardware_;
};

}  // namespace

void for_each_span(const SpansSource& source, const std::function<bool(const Span&)>& take) {
  Spans(source, take).all();
}

}  // namespace kvet::exporting
