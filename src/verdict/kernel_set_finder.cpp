#include "verdict/kernel_set_finder.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/demangle.h"
#include "base/text.h"

namespace kvet::verdict {
namespace {

// A kernel of one arm may run in the other by accident: when a module compiles or checks itself. Less than this share of
// its time in its own arm does not make it common to both.
constexpr double accidental_share = 0.001;

struct Seen {
  std::array<double, 2> time_ns{}, share{};  // by Arm; share: of the arm's kernel time
  std::array<uint64_t, 2> executions{}, outside{}, captures{};
};
size_t at(Arm arm) { return static_cast<size_t>(arm); }

std::string short_name(const std::string& raw) {
  std::string name = demangle(raw);
  if (name.size() > 60) {
    name = name.substr(0, 57) + "...";
  }
  return printable(name);
}

struct Tally {
  std::map<KernelKey, Seen> kernels;
  std::array<double, 2> time_ns{};
  std::array<uint64_t, 2> captures{};
};

Tally tally_of(const std::vector<ArmProfile>& captures) {
  // A code hash tells two kernels of one name apart only where every capture knows it.
  std::set<std::string> hash_unknown;
  for (const ArmProfile& capture : captures) {
    for (const auto& [key, activity] : capture.profile->kernels) {
      if (key.code_hash == 0) {
        hash_unknown.insert(key.name);
      }
    }
  }
  Tally tally;
  for (const ArmProfile& capture : captures) {
    size_t arm = at(capture.arm);
    ++tally.captures[arm];
    tally.time_ns[arm] += capture.profile->kernel_time_ns;
    std::set<KernelKey> counted;
    for (const auto& [key, activity] : capture.profile->kernels) {
      KernelKey common = hash_unknown.contains(key.name) ? KernelKey{key.name, 0} : key;
      Seen& seen = tally.kernels[common];
      seen.time_ns[arm] += activity.time_ns;
      seen.executions[arm] += activity.executions;
      seen.outside[arm] += activity.outside;
      if (activity.executions > 0 && counted.insert(common).second) {
        ++seen.captures[arm];
      }
    }
  }
  for (auto& [key, seen] : tally.kernels) {
    for (size_t arm : {0U, 1U}) {
      seen.share[arm] = tally.time_ns[arm] > 0 ? seen.time_ns[arm] / tally.time_ns[arm] : 0;
    }
  }
  return tally;
}

// "what ran", for messages: the longest-running first.
std::string what_ran(const Tally& tally) {
  std::vector<std::pair<double, std::string>> names;
  names.reserve(tally.kernels.size());
  for (const auto& [key, seen] : tally.kernels) {
    names.emplace_back(seen.time_ns[0] + seen.time_ns[1], short_name(key.name));
  }
  std::sort(names.rbegin(), names.rend());
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 5); ++i) {
    text += (i == 0 ? "" : ", ") + names[i].second;
  }
  if (names.size() > 5) {
    text += fmt::format(" and {} more", names.size() - 5);
  }
  return text;
}

bool only(const Seen& seen, Arm arm) {
  double own = seen.share[at(arm)], other = seen.share[1 - at(arm)];
  return own > 0 && other < accidental_share * own;
}

void add(KernelSetDefinition& set, const KernelKey& key, const Seen& seen) {
  set.keys.insert(key);
  set.kernels.push_back({key.name, key.code_hash, seen.executions[0] > 0, seen.executions[1] > 0,
                         seen.executions[0] + seen.executions[1], seen.time_ns[0] + seen.time_ns[1]});
}

Result<Tally> tally_with_kernels(const std::vector<ArmProfile>& captures) {
  for (const ArmProfile& capture : captures) {
    if (capture.profile->kernels.empty()) {
      return fail(
          ErrorKind::bad_input, "holds no kernel executions", capture.profile->path,
          "a verdict needs `kvet record -- COMMAND` in the device or unprivileged tier; `kvet doctor` says which "
          "this machine allows");
    }
  }
  return tally_of(captures);
}

}  // namespace

questions::KernelSet KernelSetDefinition::in(const Capture& capture) const {
  questions::KernelSet set;
  set.has_shape.resize(capture.shapes.size());
  std::set<std::string> labels;
  for (size_t i = 0; i < capture.shapes.size(); ++i) {
    const KernelShape& shape = capture.shapes[i];
    const std::string& raw = capture.text(shape.name);
    if (keys.contains({raw, 0}) || (shape.code_hash != 0 && keys.contains({raw, shape.code_hash}))) {
      set.has_shape[i] = true;
      labels.insert(raw);
    }
  }
  if (!labels.empty()) {
    set.label =
        labels.size() == 1 ? *labels.begin() : fmt::format("{} and {} more", *labels.begin(), labels.size() - 1);
  }
  return set;
}

Result<KernelSetDefinition> find_kernel_set(const std::vector<ArmProfile>& captures) {
  auto tally = tally_with_kernels(captures);
  if (!tally) {
    return std::unexpected(tally.error());
  }
  std::array<double, 2> own_share{};
  for (const auto& [key, seen] : tally->kernels) {
    for (Arm arm : {Arm::baseline, Arm::candidate}) {
      own_share[at(arm)] += only(seen, arm) ? seen.share[at(arm)] : 0;
    }
  }
  KernelSetDefinition set;
  set.how = "kernels that only one arm runs";
  std::array<bool, 2> has{};
  for (const auto& [key, seen] : tally->kernels) {
    for (Arm arm : {Arm::baseline, Arm::candidate}) {
      if (seen.executions[at(arm)] == 0 && seen.outside[at(arm)] > 0 && arm == Arm::candidate &&
          seen.executions[0] + seen.outside[0] == 0) {
        set.ran_outside.push_back(key.name);
      }
      if (!only(seen, arm)) {
        continue;
      }
      uint64_t of = tally->captures[at(arm)], in = seen.captures[at(arm)];
      double share = seen.share[at(arm)] / own_share[at(arm)];
      if (2 * in < of && share < accidental_share) {
        set.left_out.push_back({key.name, fmt::format("ran in {} of {} {} captures, {:.3f}% of the set's time there",
                                                      in, of, name(arm), 100 * share)});
        continue;
      }
      has[at(arm)] = true;
      add(set, key, seen);
      if (uint64_t stray = seen.executions[1 - at(arm)]; stray > 0) {
        set.how +=
            fmt::format("; {} also ran {} times in the other arm, which counts there", short_name(key.name), stray);
      }
    }
  }
  if (!has[0] && !has[1]) {
    return fail(ErrorKind::bad_input, "both arms ran the same kernels", "kernel set",
                "if the switch between the arms works, name what it changes with --kernel. Seen: " + what_ran(*tally));
  }
  if (!has[at(Arm::baseline)]) {
    return fail(ErrorKind::bad_input, "the baseline ran no kernel that the candidate does not run too", "kernel set",
                "name what the candidate replaces, and its own kernels, with --kernel. Seen: " + what_ran(*tally));
  }
  set.candidate_runs_nothing = !has[at(Arm::candidate)];
  std::sort(set.kernels.begin(), set.kernels.end(),
            [](const KernelInSet& a, const KernelInSet& b) { return a.time_ns > b.time_ns; });
  return set;
}

Result<KernelSetDefinition> kernel_set_of_names(const std::vector<ArmProfile>& captures,
                                                const std::set<std::string>& names) {
  auto tally = tally_with_kernels(captures);
  if (!tally) {
    return std::unexpected(tally.error());
  }
  KernelSetDefinition set;
  set.how = "kernels that the given patterns match";
  std::array<bool, 2> has{};
  for (const auto& [key, seen] : tally->kernels) {
    if (names.contains(key.name)) {
      add(set, key, seen);
      for (size_t arm : {0U, 1U}) {
        has[arm] = has[arm] || seen.executions[arm] > 0;
        if (arm == 1 && seen.executions[1] == 0 && seen.outside[1] > 0) {
          set.ran_outside.push_back(key.name);
        }
      }
    }
  }
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    if (!has[at(arm)] && (arm == Arm::baseline || set.ran_outside.empty())) {
      return fail(ErrorKind::bad_input, fmt::format("no kernel that the {} ran matches", name(arm)), "--kernel",
                  "give patterns for the kernels of both arms. Seen: " + what_ran(*tally));
    }
  }
  set.candidate_runs_nothing = !has[at(Arm::candidate)];
  std::sort(set.kernels.begin(), set.kernels.end(),
            [](const KernelInSet& a, const KernelInSet& b) { return a.time_ns > b.time_ns; });
  return set;
}

}  // namespace kvet::verdict
