// Whose warps are they? For every counter sample of a device: how many warps of each launch shape were resident. Occupancy
// sums it up; bandwidth, L2, tensor and instruction shares regress on it.
#pragma once

#include <string>
#include <vector>

#include "model/capture.h"
#include "questions/counter_pool.h"

namespace kvet::questions {

// One launch shape in one sample. Warps are means over the sample, summed over the device's SMs.
struct ResidentKernel {
  ShapeId shape;
  double warps = 0;           // best estimate; the shapes of a sample add up to what was measured, less `unexplained`
  double low = 0, high = 0;   // what the data allow, whatever the estimate's assumptions
};

struct SampleResidency {
  const Sample* sample = nullptr;
  std::vector<ResidentKernel> kernels;  // by shape
  double unexplained = 0;  // warps that the kernels running then cannot hold
  bool resolved = false;   // the estimate is determined by the data; else only the range is
  bool whole = false;      // each of these executions covers the sample from end to end, clock guard included
  size_t set = 0;          // index into DeviceResidency::sets
};

// One set of launch shapes that ran side by side.
struct SiblingSet {
  std::vector<ShapeId> shapes;  // sorted
  size_t rank = 0;       // of the system of resource vectors
  double condition = 0;  // infinite below full rank
  double time_ns = 0;    // of its samples
  bool resolved = false;
  std::string method;    // "fingerprint", "fingerprint and conservation", …: how it was resolved, or why not
};

struct DeviceResidency {
  std::vector<SampleResidency> samples;  // by start; samples in which no kernel runs are left out
  std::vector<SiblingSet> sets;
  std::string reason, advice;  // why there is nothing, where `samples` is empty
};
DeviceResidency device_residency(const Capture& capture, DeviceId device, const DeviceSamples& samples);

}  // namespace kvet::questions
