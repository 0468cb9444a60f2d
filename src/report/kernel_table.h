// The table of `kvet kernels`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/json.h"
#include "report/report.h"

namespace kvet::report {

struct KernelRow {
  std::string name;     // raw
  std::string pattern;  // to paste behind --kernel
  uint64_t executions = 0, graph_executions = 0;
  double time_ns = 0, share_percent = 0, mean_ns = 0;
  uint64_t shapes = 0, streams = 0;
  std::vector<uint32_t> devices;
  std::vector<size_t> files;  // which of the captures ran it, by index
  bool code_differs = false;  // the same name, but other code in another capture
};

struct KernelTable {
  std::vector<std::string> files;  // raw paths
  std::vector<KernelRow> rows;     // in the order in which they are shown
};

[[nodiscard]] std::string render_text(const KernelTable& table, const RenderOptions& options);
[[nodiscard]] Json render_json(const KernelTable& table, const std::string& kvet_version);

}  // namespace kvet::report
