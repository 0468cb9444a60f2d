// Which launches of a profile are executions of K.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/capture.h"
#include "model/isolated_counters.h"
#include "questions/questions.h"

namespace kvet::questions {

struct MatchedShape {
  double executions = 0, time_ns = 0;            // of K in the capture, in this shape
  std::vector<const IsolatedLaunch*> launches;   // of the profile
};

struct ProfileMatch {
  std::vector<MatchedShape> shapes;  // those with launches
  double executions = 0;             // of K, matched or not
  double matched = 0;
  std::string reason, advice;  // why less than `least_matched` is matched, or the GPU is another; "": it is fit for use
};
inline constexpr double least_matched = 0.9;

ProfileMatch match_profile(const Capture& capture, const KernelSet& kernels, const IsolatedProfile& profile);

}  // namespace kvet::questions
