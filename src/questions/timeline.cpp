#include "questions/timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "questions/contexts.h"

namespace kvet::questions {
namespace {

constexpr size_t siblings_listed = 8;
// How many running executions are looked at for the names of siblings: hardware runs at most 128 kernels at once.
constexpr size_t running_looked_at = 128;
constexpr size_t branches = 16;  // tracks that one stream's graph launches may be split into

struct TrackKey {
  uint32_t process, context, stream, branch;
  auto operator<=>(const TrackKey&) const = default;
};

// Gives every execution of one device its track and its group of contexts, both counted from 0.
class Tracks {
 public:
  explicit Tracks(const Capture& capture) : groups_(capture) {}
  struct Place {
    uint32_t track = 0, group = 0;
    int64_t earlier_end = std::numeric_limits<int64_t>::min();  // latest end of an earlier execution in the track
  };
  Place place(const Execution& execution) {
    const uint32_t branch = execution.graph_node_id != 0 ? branch_of(execution) : 0;
    Place result;
    auto [track, new_track] = tracks_.try_emplace(
        {execution.process.value, execution.context_id, execution.stream_id, branch}, tracks_.size());
    result.track = static_cast<uint32_t>(track->second);
    result.group = groups_.of(execution.process, execution.context_id);
    if (new_track) {
      last_end_.push_back(std::numeric_limits<int64_t>::min());
    }
    result.earlier_end = last_end_[result.track];
    last_end_[result.track] = std::max(last_end_[result.track], execution.end_ns);
    return result;
  }
  [[nodiscard]] size_t tracks() const { return tracks_.size(); }
  [[nodiscard]] size_t groups() const { return groups_.count(); }

 private:
  struct Branch {
    int64_t start, end;
    uint32_t correlation;
  };
  // The first branch of the stream that it does not overlap by more than half of the shorter one.
  uint32_t branch_of(const Execution& execution) {
    std::vector<Branch>& open = branches_[{execution.process.value, execution.context_id, execution.stream_id}];
    const int64_t duration = execution.end_ns - execution.start_ns;
    size_t index = 0;
    for (; index < open.size(); ++index) {
      const Branch& before = open[index];
      const int64_t overlap = std::min(before.end, execution.end_ns) - execution.start_ns;
      const bool parallel = before.correlation == execution.correlation_id && overlap > 0 &&
                            overlap > std::min(before.end - before.start, duration) / 2;
      if (!parallel || index + 1 == branches) {
        break;
      }
    }
    if (index == open.size()) {
      open.push_back({});
    }
    open[index] = {execution.start_ns, execution.end_ns, execution.correlation_id};
    return static_cast<uint32_t>(index);
  }

  std::map<TrackKey, size_t> tracks_;
  SharingGroups groups_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<Branch>> branches_;
  std::vector<int64_t> last_end_;
};

class Sweep {
 public:
  Sweep(const Capture& capture, const KernelSet& kernels, DeviceId device) : capture_(capture), kernels_(kernels) {
    timeline_.device = device;
  }

  DeviceTimeline run(const std::vector<uint32_t>& executions);

 private:
  void begin(uint32_t index);
  void end(uint32_t index);
  void close(int64_t until);
  void list_siblings(Run& run, const Tracks::Place& place);
  void finish_runs();

  const Capture& capture_;
  const KernelSet& kernels_;
  DeviceTimeline timeline_;

  std::vector<Tracks::Place> place_;           // by position in the device's executions
  std::vector<uint32_t> track_k_, track_other_;  // running, by track
  std::vector<int64_t> track_counts_from_;       // where K's time begins, by track
  std::vector<uint32_t> group_all_, group_other_;
  std::vector<uint32_t> running_, slot_;  // executions that run, and where each is in that list
  const std::vector<uint32_t>* order_ = nullptr;
  uint64_t k_tracks_ = 0, k_track_sum_ = 0, k_running_ = 0, groups_running_ = 0;
  int64_t since_ = 0;
  std::vector<Span> alone_, undisturbed_, beside_, other_context_, crowd_;
};

void Sweep::close(int64_t until) {
  if (k_running_ > 0 && until > since_) {
    const Span span{since_, until};
    if (k_running_ > 1) {
      crowd_.push_back(span);
    }
    const uint64_t track = k_track_sum_;  // of the only one, where there is only one
    const bool single = k_tracks_ == 1;
    if (groups_running_ > 1) {
      other_context_.push_back(span);
    } else if (!single || since_ >= track_counts_from_[track]) {
      const uint32_t group = place_[running_.front()].group;
      const uint32_t others = group_other_[group];
      const uint32_t neighbours = single ? track_other_[track] : 0;
      if (others > neighbours) {
        beside_.push_back(span);
      } else {
        alone_.push_back(span);
        if (others == 0) {
          undisturbed_.push_back(span);
        }
      }
    }
  }
  since_ = until;
}

void Sweep::list_siblings(Run& run, const Tracks::Place& place) {
  const size_t looked_at = std::min(running_.size(), running_looked_at);
  for (size_t i = 0; i < looked_at; ++i) {
    const uint32_t other = running_[i];
    if (place_[other].group == place.group && place_[other].track != place.track) {
      const StringId name = capture_.shapes[capture_.executions[(*order_)[other]].shape.value].name;
      auto at = std::ranges::lower_bound(run.at_start, name);
      if (at == run.at_start.end() || *at != name) {
        if (run.at_start.size() == siblings_listed) {
          run.crowded_at_start = true;
          return;
        }
        run.at_start.insert(at, name);
      }
    }
  }
  run.crowded_at_start = running_.size() > running_looked_at;
}

void Sweep::begin(uint32_t index) {
  const Execution& execution = capture_.executions[(*order_)[index]];
  const Tracks::Place& place = place_[index];
  const bool is_k = kernels_.contains(execution.shape);
  if (is_k) {
    Run run;
    run.execution = (*order_)[index];
    run.from_ns = std::min(std::max(execution.start_ns, place.earlier_end), execution.end_ns);
    run.to_ns = execution.end_ns;
    list_siblings(run, place);
    if (track_k_[place.track]++ == 0) {
      ++k_tracks_;
      k_track_sum_ += place.track;
      track_counts_from_[place.track] = run.from_ns;
    }
    ++k_running_;
    timeline_.runs.push_back(std::move(run));
  } else {
    ++track_other_[place.track];
    ++group_other_[place.group];
  }
  if (group_all_[place.group]++ == 0) {
    ++groups_running_;
  }
  slot_[index] = static_cast<uint32_t>(running_.size());
  running_.push_back(index);
}

void Sweep::end(uint32_t index) {
  const Tracks::Place& place = place_[index];
  if (kernels_.contains(capture_.executions[(*order_)[index]].shape)) {
    --k_running_;
    if (--track_k_[place.track] == 0) {
      --k_tracks_;
      k_track_sum_ -= place.track;
    }
  } else {
    --track_other_[place.track];
    --group_other_[place.group];
  }
  if (--group_all_[place.group] == 0) {
    --groups_running_;
  }
  const uint32_t slot = slot_[index], last = running_.back();
  running_[slot] = last;
  slot_[last] = slot;
  running_.pop_back();
}

void Sweep::finish_runs() {
  timeline_.alone = SpanSet{std::move(alone_)};
  timeline_.undisturbed = SpanSet{std::move(undisturbed_)};
  timeline_.beside = SpanSet{std::move(beside_)};
  // An execution in which the device switched contexts waited for its turn for part of its time, and which part is not
  // recorded: none of it is alone or beside a sibling. The counters tell this of contexts that were not recorded, too.
  if (const SpanSet switching = switching_samples(capture_, timeline_.device); !switching.empty()) {
    std::vector<Span> torn;
    for (const Run& run : timeline_.runs) {
      if (switching.covered(run.from_ns, run.to_ns) > 0) {
        torn.push_back({run.from_ns, run.to_ns});
      }
    }
    other_context_.insert(other_context_.end(), torn.begin(), torn.end());
    const SpanSet turns{std::move(torn)};
    timeline_.alone = difference(timeline_.alone, turns);
    timeline_.undisturbed = difference(timeline_.undisturbed, turns);
    timeline_.beside = difference(timeline_.beside, turns);
  }
  timeline_.other_context = SpanSet{std::move(other_context_)};
  const SpanSet crowd{std::move(crowd_)};
  std::vector<Span> whole;
  for (Run& run : timeline_.runs) {
    const Execution& execution = capture_.executions[run.execution];
    const int64_t duration = execution.end_ns - execution.start_ns;
    run.beside_ns = timeline_.beside.covered(run.from_ns, run.to_ns);
    run.alone_throughout = duration > 0 &&
                           timeline_.undisturbed.covered(execution.start_ns, execution.end_ns) == duration &&
                           crowd.covered(execution.start_ns, execution.end_ns) == 0;
    if (run.alone_throughout) {
      whole.push_back({execution.start_ns, execution.end_ns});
    }
  }
  timeline_.whole = SpanSet{std::move(whole)};
}

DeviceTimeline Sweep::run(const std::vector<uint32_t>& executions) {
  order_ = &executions;
  Tracks tracks{capture_};
  std::vector<Span> others, all;
  for (uint32_t index : executions) {
    const Execution& execution = capture_.executions[index];
    place_.push_back(tracks.place(execution));
    all.push_back({execution.start_ns, execution.end_ns});
    if (!kernels_.contains(execution.shape)) {
      others.push_back(all.back());
    }
  }
  track_k_.assign(tracks.tracks(), 0);
  track_other_.assign(tracks.tracks(), 0);
  track_counts_from_.assign(tracks.tracks(), 0);
  group_all_.assign(tracks.groups(), 0);
  group_other_.assign(tracks.groups(), 0);
  slot_.assign(executions.size(), 0);

  std::vector<uint32_t> by_end(executions.size());
  std::iota(by_end.begin(), by_end.end(), 0u);
  std::ranges::stable_sort(by_end, {}, [&](uint32_t i) { return capture_.executions[executions[i]].end_ns; });
  size_t ending = 0;
  auto end_until = [&](int64_t time) {
    while (ending < by_end.size()) {
      const Execution& execution = capture_.executions[executions[by_end[ending]]];
      // An execution without length never began for the sweep.
      if (execution.end_ns > time) {
        return;
      }
      if (execution.end_ns > execution.start_ns) {
        close(execution.end_ns);
        end(by_end[ending]);
      }
      ++ending;
    }
  };
  for (uint32_t index = 0; index < executions.size(); ++index) {
    const Execution& execution = capture_.executions[executions[index]];
    end_until(execution.start_ns);
    close(execution.start_ns);
    if (execution.end_ns > execution.start_ns) {
      begin(index);
    } else if (kernels_.contains(execution.shape)) {
      timeline_.runs.push_back({executions[index], execution.start_ns, execution.end_ns, 0, false, false, {}});
    }
  }
  end_until(std::numeric_limits<int64_t>::max());
  finish_runs();
  timeline_.others = SpanSet{std::move(others)};
  timeline_.kernels = SpanSet{std::move(all)};
  return std::move(timeline_);
}

}  // namespace

std::vector<DeviceTimeline> timelines(const Capture& capture, const KernelSet& kernels) {
  std::vector<std::vector<uint32_t>> by_device(capture.devices.size());
  std::vector<bool> has_k(capture.devices.size());
  for (uint32_t index = 0; index < capture.executions.size(); ++index) {
    const Execution& execution = capture.executions[index];
    by_device[execution.device.value].push_back(index);
    has_k[execution.device.value] = has_k[execution.device.value] || kernels.contains(execution.shape);
  }
  std::vector<DeviceTimeline> all;
  for (uint32_t device = 0; device < by_device.size(); ++device) {
    if (has_k[device]) {
      all.push_back(Sweep{capture, kernels, DeviceId{device}}.run(by_device[device]));
    }
  }
  return all;
}

}  // namespace kvet::questions
