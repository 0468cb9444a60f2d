// kvet __sampler --csv FOLDER [--interval-ns N] [--gpm-cross-check no] -- COMMAND…: for scripts/gpu/counters-check.
// Samples while the command runs, aligns the samples with the executions that the command wrote down itself
// (FOLDER/executions.csv), and leaves samples.csv, readings.csv, mappings.csv and facts.txt in the folder.
#pragma once

#include "cli/options.h"

namespace kvet::cli {

int check_sampler(const InternalOptions& options);

}  // namespace kvet::cli
