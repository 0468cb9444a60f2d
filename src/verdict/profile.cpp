#include "verdict/profile.h"

#include <algorithm>
#include <unordered_map>

#include "verdict/launches.h"

namespace kvet::verdict {

std::string collapsed_range_name(std::string_view name) {
  std::string result;
  for (char letter : name.substr(0, 256)) {
    bool digit = letter >= '0' && letter <= '9';
    if (!digit) {
      result += letter;
    } else if (result.empty() || result.back() != '#') {
      result += '#';
    }
  }
  return result;
}

namespace {

// When and where the host asked for an execution.
struct Request {
  int64_t time;
  int32_t thread;
  uint32_t kernel;  // StringId
};

// The names launched inside each range, by a sweep over ranges and launches of one process. Ranges of an unknown
// thread, and launches from a thread that opened none (autograd's, say), match by process.
void find_launched(const Capture& capture, std::vector<const Range*>& ranges, std::vector<Request>& requests,
                   std::map<std::string, RangeActivity>& activity,
                   const std::unordered_map<uint32_t, std::string>& collapsed) {
  std::sort(ranges.begin(), ranges.end(), [](const Range* a, const Range* b) { return a->start_ns < b->start_ns; });
  std::sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) { return a.time < b.time; });
  std::set<int32_t> threads;
  for (const Range* range : ranges) {
    threads.insert(range->thread_id);
  }
  std::set<std::pair<std::string_view, uint32_t>> seen;
  std::vector<const Range*> open;
  size_t next = 0;
  for (const Request& request : requests) {
    for (; next < ranges.size() && ranges[next]->start_ns <= request.time; ++next) {
      open.push_back(ranges[next]);
    }
    std::erase_if(open, [&](const Range* range) { return range->end_ns < request.time; });
    bool anywhere = !threads.contains(request.thread);
    for (const Range* range : open) {
      if (anywhere || range->thread_id == 0 || range->thread_id == request.thread) {
        const std::string& name = collapsed.at(range->name.value);
        if (seen.emplace(name, request.kernel).second) {
          activity[name].kernels.insert(capture.strings[request.kernel]);
        }
      }
    }
  }
}

}  // namespace

CaptureProfile profile_of(const Capture& capture) {
  CaptureProfile profile;
  profile.path = capture.path;
  const Window window = window_of(capture);
  const LaunchIndex launches(capture);

  std::vector<KernelActivity*> by_shape(capture.shapes.size());
  for (size_t i = 0; i < capture.shapes.size(); ++i) {
    const KernelShape& shape = capture.shapes[i];
    by_shape[i] = &profile.kernels[{capture.text(shape.name), shape.code_hash}];
  }
  std::unordered_map<uint32_t, std::vector<Request>> requests;
  for (const Execution& execution : capture.executions) {
    KernelActivity& kernel = *by_shape[execution.shape.value];
    if (!window.contains(execution.start_ns)) {
      ++kernel.outside;
      continue;
    }
    auto duration = static_cast<double>(execution.end_ns - execution.start_ns);
    ++kernel.executions;
    kernel.time_ns += duration;
    profile.kernel_time_ns += duration;
    if (execution.graph_node_id != 0) {
      kernel.graph_time_ns += duration;
    }
    kernel.streams.emplace(execution.process.value, execution.context_id, execution.stream_id);
    if (!capture.ranges.empty()) {
      const ApiCall* call = launches.find(execution.process, execution.correlation_id);
      requests[execution.process.value].push_back({call ? call->start_ns : execution.start_ns,
                                                   call ? call->thread_id : 0,
                                                   capture.shapes[execution.shape.value].name.value});
    }
  }
  std::erase_if(profile.kernels, [](const auto& entry) { return entry.second.executions + entry.second.outside == 0; });

  std::unordered_map<uint32_t, std::string> collapsed;
  std::unordered_map<uint32_t, std::vector<const Range*>> ranges;
  for (const Range& range : capture.ranges) {
    if (window.contains(range.start_ns)) {
      auto [entry, added] = collapsed.try_emplace(range.name.value);
      if (added) {
        entry->second = collapsed_range_name(capture.text(range.name));
      }
      RangeActivity& activity = profile.ranges[entry->second];
      ++activity.count;
      activity.time_ns += static_cast<double>(range.end_ns - range.start_ns);
      ranges[range.process.value].push_back(&range);
    }
  }
  for (auto& [process, list] : ranges) {
    find_launched(capture, list, requests[process], profile.ranges, collapsed);
  }
  return profile;
}

}  // namespace kvet::verdict
