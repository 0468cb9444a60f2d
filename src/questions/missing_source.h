// Why a capture lacks a whole source of events, and how to get it: as whoever wrote it said, else as for kvet's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/capture.h"
#include "model/finding.h"

namespace kvet::questions {

struct Missing {
  std::string reason, advice;
};

// `name`: "sched", "launch", "nccl", "activity", "graph_nodes", "nvtx"; the facts source.NAME and source.NAME.advice.
[[nodiscard]] Missing missing_source(const Capture& capture, std::string_view name, Missing otherwise);
// The facts counters.status and counters.advice.
[[nodiscard]] Missing missing_counters(const Capture& capture, Missing otherwise);

// quality.source: one finding for each source that the capture says it lacks, counters included.
void add_missing_sources(std::vector<Finding>& findings, const Capture& capture);

// quality.message: what the tool that made an imported file said about its own work.
void add_messages(std::vector<Finding>& findings, const Capture& capture);

}  // namespace kvet::questions
