// Did the microbenchmark live in L2? Bytes per execution in the workload against those in an isolated capture.
#pragma once

#include "model/capture.h"
#include "questions/questions.h"

namespace kvet::questions {

// dram.locality: DRAM bytes of an execution of K in `workload` ÷ in `isolated`. In the workload: alone and beside siblings together,
// by the time that it spends in each. Where the isolated one moves nothing that can be told from 0 there is no ratio, and
// the finding says that it lived in L2.
Finding locality(const Capture& workload, const KernelSet& kernels, const Capture& isolated,
                 const KernelSet& isolated_kernels);

// The same against a figure that another tool read. `findings` are those of dram() for the workload; `there` is in bytes per execution,
// `where` says whose it is.
Finding locality(const Capture& workload, const KernelSet& kernels, const std::vector<Finding>& findings, double there,
                 const std::string& where);

}  // namespace kvet::questions
