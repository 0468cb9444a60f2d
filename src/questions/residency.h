// Whose warps are they? For every counter sample of a device: how many warps of each launch shape were resident. Occupancy
// sums it up; bandwidth, L2, tensor and instruction shares regress on it.
//
// What is known of a sample of 10 to 100 us: the mean resident warps W, allocated registers R and shared memory S of the whole
// device, warps launched, blocks completed, and which executions ran when (± the clock guard). What is not: y_k, the share of the
// device's warp slots that the blocks of launch shape k hold. All that is known about y is linear, so each sample is one small
// linear problem:
//
//   vectors      R = Σ r_k·y_k,  S = Σ s_k·y_k,  W = Σ a_k·y_k. r and s are registers and shared memory per warp as the hardware
//                allocates them (residency_vectors.h): arithmetic on the launch, never fitted. They stay until the block ends, also
//                under setmaxnreg. Warps may exit before their block: a_k, the part that is alive, is 1, or what solo samples of k
//                say where that is below 1 (R tells the blocks there, W the warps); the finding then says so. It depends on
//                the blocks' age, so W is then an equation with an error of that size.
//   reading      each has an error of 0.3% (residency_system.h). Shared memory is under-read where many small blocks share an SM:
//                the part of shapes with less than 4 KiB per block is anything from none to all of it.
//   boxes        0 ≤ y_k ≤ what fits × the part of the sample that k's executions overlap, guard included, and never more than
//                their grids; where the flows are counted without a gap since the device was last idle, also what conservation
//                leaves (residency_flows.h): blocks launched less blocks completed, for those running now; and never more than all that was read.
//
// Steady samples are nothing special: a kernel that ran in 3% of a sample is one more unknown with a narrow box. So samples in
// which something begins or ends are used like others, and any number of kernels may be in one.
//
// The estimate is the best linear one (Gauss–Markov with a prior: the box's middle and width, then, in later passes, the mean rate
// of that shape in that sibling set, which removes the prior's bias) with y kept in its box. Its error has two parts: the readings'
// (averages out) and what is left of the prior or common to all samples (does not). A sample is *resolved* where the latter is at most a point of
// the warp slots for each kernel. Rank, conditioning, parallel vectors and short overlaps are all covered by this one number.
//
// The range [low, high] uses no prior: the least and the most that the readings (±1%) and boxes allow, by linear programming
// (residency_range.h). It is what to say where a sample is not resolved.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/capture.h"
#include "questions/counter_pool.h"
#include "questions/questions.h"

namespace kvet::questions {

// One launch shape in one sample. Warps are means over the sample, summed over the device's SMs.
struct ResidentKernel {
  ShapeId shape;
  double warps = 0;  // best estimate; the shapes of a sample add up to what was measured, less `unexplained`
  double low = 0, high = 0;  // what the data allow, whatever the estimate's assumptions
};

// The kernels of K together, likewise.
struct OwnResidency {
  double warps = 0, low = 0, high = 0;
  double prior_error = 0;  // standard error from what the data leave open, in warps; averages do not reduce it
  double reading_error = 0;  // by the readings' errors, of this sample
  bool resolved = false;
};

struct SampleResidency {
  const Sample* sample = nullptr;
  std::span<const ResidentKernel> kernels;  // by shape; lies in DeviceResidency::kernels
  OwnResidency own;  // of the kernel set that was asked for
  double unexplained = 0;  // warps that the kernels running then cannot hold
  bool resolved = false;  // the estimate is determined by the data, for each kernel; else only the range is
  bool whole = false;  // each of these executions covers the sample from end to end, clock guard included
  size_t set = 0;  // index into DeviceResidency::sets: what ran side by side for the longest part of the sample
};

// One set of launch shapes that ran side by side.
struct SiblingSet {
  std::vector<ShapeId> shapes;  // sorted; empty: one of too many
  size_t rank = 0;  // of the system of resource vectors
  double condition = 0;  // infinite below full rank
  double time_ns = 0;  // of its samples
  bool resolved = false;  // most of that time
  std::string method;  // "fingerprint", "fingerprint and conservation", …: how it was resolved, or why not
};

struct DeviceResidency {
  std::vector<SampleResidency> samples;  // by start; samples in which no kernel runs are left out
  std::vector<SiblingSet> sets;
  std::vector<ShapeId> early_exits;  // shapes of which warps exit before their block, as their solo samples show
  std::string reason, advice;  // why there is nothing, where `samples` is empty
  std::vector<ResidentKernel> kernels;  // of all samples

  DeviceResidency() = default;
  DeviceResidency(DeviceResidency&&) = default;  // the samples' spans go with the vector
  DeviceResidency& operator=(DeviceResidency&&) = default;
};
// `own`: whose warps to give as SampleResidency::own; may be null.
DeviceResidency device_residency(const Capture& capture, DeviceId device, const DeviceSamples& samples,
                                 const KernelSet* own = nullptr);

}  // namespace kvet::questions
