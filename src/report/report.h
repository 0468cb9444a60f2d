// What `kvet report` shows: findings grouped by capture and kernel, and the two ways of showing them. Nothing here
// computes: every number was found by questions/ or counted while the report was put together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/capture.h"
#include "model/finding.h"
#include "report/json.h"

namespace kvet::report {

// About the capture itself: what a reader must know before believing a number. Texts are raw.
struct CaptureFacts {
  std::string path;
  bool complete = false;
  std::string tier;  // "" where the file does not say (imported ones)
  std::string command;
  std::string recorded_by;  // version of kvet
  std::vector<std::string> devices;  // names
  std::optional<int64_t> duration_ns;
  std::optional<Interval> window_ns;  // the part that the findings are about, since the recording began; empty: all
  std::string counters;  // "pm, 20 µs", "off: reason"
  uint64_t processes = 0, launches = 0, executions = 0, transfers = 0, samples = 0;
  uint64_t lost = 0;  // events, of all sources
};
[[nodiscard]] CaptureFacts facts_of(const Capture& capture);

struct KernelSection {
  std::string name;  // raw
  uint64_t executions = 0;
  double time_ns = 0;
  double share_percent = 0;  // of the device time of all kernels in the capture
  std::vector<Finding> findings;
};

struct CaptureReport {
  CaptureFacts facts;
  std::vector<Finding> findings;  // about the capture as a whole
  std::vector<KernelSection> kernels;  // the longest-running first
  uint64_t kernels_left_out = 0;
  double left_out_percent = 0;
};

struct RenderOptions {
  size_t width = 100;   // columns; at least 80
  bool colour = false;  // escape sequences of ECMA-48
};

// No line is longer than the width. Ends with a newline.
[[nodiscard]] std::string render_text(const std::vector<CaptureReport>& reports, const RenderOptions& options);

// GitHub-flavoured Markdown, for a pull request's discussion. Ends with a newline.
[[nodiscard]] std::string render_markdown(const std::vector<CaptureReport>& reports);

// docs/report-schema.md describes it, docs/report.schema.json lets a program check it.
[[nodiscard]] Json render_json(const std::vector<CaptureReport>& reports, const std::string& kvet_version);
[[nodiscard]] Json finding_json(const Finding& finding);

}  // namespace kvet::report
