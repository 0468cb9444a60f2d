#include "import/kineto_event.h"

#include <fmt/core.h>

#include "import/decimal.h"

namespace kvet::importing {
namespace {

// Each key that is read may come once: with two values nobody knows which one counts.
class Once {
 public:
  explicit Once(const JsonReader& reader) : reader_(reader) {}
  void see(unsigned number, std::string_view key) {
    if ((seen_ >> number & 1) != 0) {
      reader_.fail(fmt::format("an event has two values for \"{}\"", key));
    }
    seen_ |= uint64_t{1} << number;
  }

 private:
  const JsonReader& reader_;
  uint64_t seen_ = 0;
};

template <class T>
std::optional<T> whole_if(JsonReader& reader) {
  const auto text = reader.number_if();
  return text ? whole<T>(*text) : std::nullopt;
}

void read_triple(JsonReader& reader, std::array<uint32_t, 3>& triple) {
  if (reader.peek() != '[') {
    reader.skip_value();
    return;
  }
  std::array<uint32_t, 3> read{};
  size_t count = 0;
  bool good = true;
  for (reader.open_array(); reader.next_element(); ++count) {
    const auto size = whole_if<uint32_t>(reader);
    good = good && size && count < 3;
    if (good) {
      read[count] = *size;
    }
  }
  triple = good && count == 3 ? read : std::array<uint32_t, 3>{};
}

void read_text(JsonReader& reader, std::string& into) {
  if (const auto text = reader.string_if()) {
    into = *text;
  }
}

bool read_collective_argument(JsonReader& reader, KinetoEvent::Collective& collective, Once& once,
                              std::string_view key) {
  auto number = [&](unsigned bit, auto& into) {
    once.see(bit, key);
    into = whole_if<typename std::remove_reference_t<decltype(into)>::value_type>(reader);
    return true;
  };
  auto text = [&](unsigned bit, std::string& into) {
    once.see(bit, key);
    read_text(reader, into);
    return true;
  };
  if (key == "Collective name")
    return text(32, collective.name);
  if (key == "Process Group Name")
    return text(33, collective.group);
  if (key == "Process Group Ranks")
    return text(34, collective.ranks);
  if (key == "dtype")
    return text(35, collective.data_type);
  if (key == "In msg nelems")
    return number(36, collective.elements_in);
  if (key == "Out msg nelems")
    return number(37, collective.elements_out);
  if (key == "Group size")
    return number(38, collective.group_size);
  if (key == "Global rank start")
    return number(39, collective.first_rank);
  if (key == "Global rank stride")
    return number(40, collective.rank_stride);
  return false;
}

void read_arguments(JsonReader& reader, KinetoEvent& event) {
  if (reader.peek() != '{') {
    reader.skip_value();
    return;
  }
  Once once(reader);
  std::string_view key;
  for (reader.open_object(); reader.next_key(key);) {
    auto number = [&](unsigned bit, auto& into) {
      once.see(bit, key);
      into = whole_if<typename std::remove_reference_t<decltype(into)>::value_type>(reader);
    };
    if (key == "device" || key == "inDevice") {
      number(0, event.device);
    } else if (key == "context" || key == "inContext") {
      number(1, event.context);
    } else if (key == "stream") {
      number(2, event.stream);
    } else if (key == "correlation") {
      number(3, event.correlation);
    } else if (key == "registers per thread") {
      number(4, event.registers);
    } else if (key == "shared memory") {
      number(5, event.shared_bytes);
    } else if (key == "bytes") {
      number(6, event.bytes);
    } else if (key == "grid") {
      once.see(7, key);
      read_triple(reader, event.grid);
    } else if (key == "block") {
      once.see(8, key);
      read_triple(reader, event.block);
    } else if (key == "graph id") {
      number(9, event.graph);
    } else if (key == "graph node id") {
      number(10, event.graph_node);
    } else if (key == "name") {
      once.see(11, key);
      read_text(reader, event.label);
    } else if (!read_collective_argument(reader, event.collective, once, key)) {
      reader.skip_value();
    }
  }
}

void read_time(JsonReader& reader, bool& present, std::optional<int64_t>& time) {
  present = true;
  time = nanoseconds_of_microseconds(reader.number());
}

void clear(KinetoEvent& event) {
  // Field by field: the texts keep their memory.
  event.category = KinetoCategory::other;
  event.process_name = event.has_start = event.has_duration = false;
  event.name.clear();
  event.label.clear();
  event.api_kind.reset();
  event.start_ns.reset();
  event.duration_ns.reset();
  event.process.reset();
  event.thread.reset();
  event.device = event.context = event.stream = event.correlation = {};
  event.registers = event.shared_bytes = event.graph = {};
  event.bytes = event.graph_node = {};
  event.grid = event.block = {};
  auto& collective = event.collective;
  for (std::string* text : {&collective.name, &collective.group, &collective.ranks, &collective.data_type}) {
    text->clear();
  }
  collective.elements_in = collective.elements_out = {};
  collective.group_size = collective.first_rank = collective.rank_stride = {};
}

enum class Keep : uint8_t { yes, no, unknown };

// As soon as it can be told, from what was read so far.
Keep keep(const KinetoEvent& event, char phase, bool has_category, bool has_name) {
  if (phase == 0) {
    return Keep::unknown;
  }
  if (phase == 'M') {
    return !has_name ? Keep::unknown : event.name == "process_name" ? Keep::yes : Keep::no;
  }
  if (phase != 'X') {
    return Keep::no;
  }
  if (!has_category) {
    return Keep::unknown;
  }
  switch (event.category) {
    case KinetoCategory::kernel:
    case KinetoCategory::copy:
    case KinetoCategory::memset:
    case KinetoCategory::annotation: return Keep::yes;
    case KinetoCategory::api: return !has_name ? Keep::unknown : event.api_kind ? Keep::yes : Keep::no;
    case KinetoCategory::cpu_operator:
      return !has_name ? Keep::unknown : event.name == "record_param_comms" ? Keep::yes : Keep::no;
    case KinetoCategory::other: return Keep::no;
  }
  return Keep::no;
}

}  // namespace

bool read_event(JsonReader& reader, KinetoEvent& event) {
  clear(event);
  reader.peek();
  event.position = reader.position();
  Once once(reader);
  char phase = 0;
  bool has_category = false, has_name = false;
  std::string_view key;
  for (reader.open_object(); reader.next_key(key);) {
    if (key == "ph") {
      once.see(0, key);
      const auto text = reader.string_if();
      phase = text && text->size() == 1 ? text->front() : '?';
    } else if (key == "cat") {
      once.see(1, key);
      const auto text = reader.string_if();
      event.category = text ? category_of(*text) : KinetoCategory::other;
      has_category = true;
    } else if (key == "name") {
      once.see(2, key);
      read_text(reader, event.name);
      has_name = true;
    } else if (key == "ts") {
      once.see(3, key);
      read_time(reader, event.has_start, event.start_ns);
      continue;
    } else if (key == "dur") {
      once.see(4, key);
      read_time(reader, event.has_duration, event.duration_ns);
      continue;
    } else if (key == "pid") {
      once.see(5, key);
      event.process = whole_if<int64_t>(reader);
      continue;
    } else if (key == "tid") {
      once.see(6, key);
      event.thread = whole_if<int64_t>(reader);
      continue;
    } else if (key == "args") {
      once.see(7, key);
      read_arguments(reader, event);
      continue;
    } else {
      reader.skip_value();
      continue;
    }
    if (event.category == KinetoCategory::api && has_name) {
      event.api_kind = api_kind_of(event.name);
    }
    if (keep(event, phase, has_category, has_name) == Keep::no) {
      reader.skip_rest();
      return false;
    }
  }
  event.process_name = phase == 'M';
  return keep(event, phase, has_category, has_name) == Keep::yes;
}

}  // namespace kvet::importing
