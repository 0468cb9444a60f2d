// Finds the kernels that a user means.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/demangle.h"
#include "base/pattern.h"
#include "base/text.h"
#include "questions/questions.h"

namespace kvet::questions {
namespace {

// Names are bounded, since they come from the target.
constexpr size_t name_limit = Pattern::text_limit;
constexpr size_t names_in_message = 12;
constexpr size_t name_in_message_limit = 100;

struct SeenName {
  std::string mangled, demangled;
  double time_ns = 0;
  uint64_t executions = 0;
  bool wanted = false;
};

// By StringId of the mangled name.
std::map<uint32_t, SeenName> seen_names(const Capture& capture) {
  std::map<uint32_t, SeenName> seen;
  for (const KernelShape& shape : capture.shapes) {
    auto [entry, added] = seen.try_emplace(shape.name.value);
    if (added) {
      entry->second.mangled = capture.text(shape.name).substr(0, name_limit);
      entry->second.demangled = demangle(capture.text(shape.name)).substr(0, name_limit);
    }
  }
  std::vector<SeenName*> by_shape;
  by_shape.reserve(capture.shapes.size());
  for (const KernelShape& shape : capture.shapes) {
    by_shape.push_back(&seen.at(shape.name.value));
  }
  for (const Execution& execution : capture.executions) {
    SeenName& name = *by_shape[execution.shape.value];
    name.time_ns += static_cast<double>(execution.end_ns - execution.start_ns);
    ++name.executions;
  }
  return seen;
}

std::string shortened(const std::string& name) {
  const std::string safe = printable(name);
  return safe.size() <= name_in_message_limit ? safe : safe.substr(0, name_in_message_limit) + "...";
}

std::vector<const SeenName*> longest_first(const std::map<uint32_t, SeenName>& seen) {
  std::vector<const SeenName*> order;
  order.reserve(seen.size());
  for (const auto& [id, name] : seen) {
    order.push_back(&name);
  }
  std::ranges::stable_sort(order, [](const SeenName* a, const SeenName* b) { return a->time_ns > b->time_ns; });
  return order;
}

std::unexpected<Error> nothing_matched(const Capture& capture, const std::string& pattern,
                                       const std::map<uint32_t, SeenName>& seen) {
  if (capture.shapes.empty()) {
    return fail(ErrorKind::bad_input, "holds no kernel at all, so no pattern can match", capture.path,
                "record with `kvet record -- CMD`, which sees kernel names");
  }
  std::string names;
  size_t listed = 0;
  for (const SeenName* name : longest_first(seen)) {
    if (listed == names_in_message) {
      names += fmt::format(" and {} more", seen.size() - listed);
      break;
    }
    names += fmt::format("{}{}", listed == 0 ? "" : ", ", shortened(name->demangled));
    ++listed;
  }
  return fail(ErrorKind::bad_input,
              fmt::format("no kernel matches \"{}\"; seen, the longest-running first: {}", printable(pattern), names),
              capture.path, "`kvet kernels` lists them all");
}

}  // namespace

Result<KernelSet> select_kernels(const Capture& capture, const std::vector<std::string>& patterns) {
  std::map<uint32_t, SeenName> seen = seen_names(capture);
  if (patterns.empty()) {
    return fail(ErrorKind::usage, "no kernel pattern given", {}, "give one with --kernel");
  }
  for (const std::string& pattern : patterns) {
    const auto expression = Pattern::compile(pattern);
    if (!expression) {
      return std::unexpected(expression.error());
    }
    bool matched = false;
    for (auto& [id, name] : seen) {
      if (expression->found_in(name.demangled) || expression->found_in(name.mangled)) {
        name.wanted = true;
        matched = true;
      }
    }
    if (!matched) {
      return nothing_matched(capture, pattern, seen);
    }
  }
  KernelSet set;
  for (const KernelShape& shape : capture.shapes) {
    set.has_shape.push_back(seen.at(shape.name.value).wanted);
  }
  size_t more = 0;
  for (const SeenName* name : longest_first(seen)) {
    if (name->wanted) {
      set.label.empty() ? static_cast<void>(set.label = name->mangled) : static_cast<void>(++more);
    }
  }
  if (more > 0) {
    set.label += fmt::format(" and {} more", more);
  }
  return set;
}

}  // namespace kvet::questions
