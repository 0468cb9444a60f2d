#include "verdict/frame.h"

#include <fmt/core.h>

#include <algorithm>

namespace kvet::verdict {
namespace {

std::set<std::string> matched_names(const Capture& capture, const std::vector<std::string>& patterns) {
  std::set<std::string> names;
  // A capture in which nothing matches is no error yet: patterns for one arm's kernels match in that arm only.
  if (auto matched = questions::select_kernels(capture, patterns)) {
    for (const KernelShape& shape : capture.shapes) {
      if (matched->contains(shape.id)) {
        names.insert(capture.text(shape.name));
      }
    }
  }
  return names;
}

}  // namespace

Result<Frame> find_frame(const std::vector<Input>& inputs, const FrameOptions& options, const Loader& load) {
  std::vector<CaptureProfile> profiles;
  std::optional<std::string> step = options.step;
  std::vector<bool> decides;  // A/A captures are measured by the set that the arms define
  std::set<std::string> names;
  std::optional<Error> pattern_error;
  for (const Input& input : inputs) {
    auto capture = load(input);
    if (!capture) {
      return std::unexpected(capture.error());
    }
    profiles.push_back(profile_of(*capture));
    decides.push_back(capture->fact("experiment.kind") != "aa");
    if (const std::string_view planned = capture->fact("experiment.step"); !step && !planned.empty()) {
      step = planned;
    }
    if (!options.kernels.empty()) {
      if (auto matched = questions::select_kernels(*capture, options.kernels); !matched) {
        pattern_error = matched.error();
        if (matched.error().kind == ErrorKind::usage) {
          return std::unexpected(matched.error());
        }
      }
      names.merge(matched_names(*capture, options.kernels));
    }
  }
  if (!options.kernels.empty() && names.empty()) {
    return std::unexpected(*pattern_error);
  }
  std::vector<ArmProfile> arms;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (decides[i]) {
      arms.push_back({inputs[i].arm, &profiles[i]});
    }
  }
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    if (std::none_of(arms.begin(), arms.end(), [&](const ArmProfile& one) { return one.arm == arm; })) {
      return fail(ErrorKind::bad_input, fmt::format("no capture of the {}", name(arm)), "comparison",
                  "give at least one capture on each side of --against");
    }
  }
  Frame frame;
  auto set = options.kernels.empty() ? find_kernel_set(arms) : kernel_set_of_names(arms, names);
  if (!set) {
    return std::unexpected(set.error());
  }
  frame.set = std::move(*set);
  auto steps = choose_steps(arms, frame.set, step);
  if (!steps) {
    return std::unexpected(steps.error());
  }
  frame.steps = std::move(*steps);
  return frame;
}

Result<std::vector<BlockSummary>> summarise_all(const std::vector<Input>& inputs, const Frame& frame,
                                                const Loader& load) {
  std::vector<BlockSummary> blocks;
  for (const Input& input : inputs) {
    auto capture = load(input);
    if (!capture) {
      return std::unexpected(capture.error());
    }
    blocks.push_back(summarise(*capture, input.arm, frame.set, frame.steps));
    blocks.back().path = input.path;
  }
  return blocks;
}

}  // namespace kvet::verdict
