// kvet kernels: what ran, and what only one of several captures ran.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include <unistd.h>

#include "base/terminal.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/kernel_list.h"
#include "cli/read_any.h"
#include "report/kernel_table.h"
#include "report/names.h"

namespace kvet::cli {
namespace {

// One kernel over all captures.
struct Merged {
  report::KernelRow row;
  std::set<uint32_t> devices;
  std::vector<std::set<uint64_t>> code;  // known hashes, capture by capture
};

void add(std::map<std::string, Merged>& all, const ListedKernel& kernel, size_t file) {
  Merged& merged = all[kernel.name];
  report::KernelRow& row = merged.row;
  row.name = kernel.name;
  row.executions += kernel.executions;
  row.graph_executions += kernel.graph_executions;
  row.time_ns += kernel.time_ns;
  row.shapes = std::max<uint64_t>(row.shapes, kernel.shapes.size());
  row.streams = std::max<uint64_t>(row.streams, kernel.streams.size());
  row.files.push_back(file);
  merged.devices.insert(kernel.devices.begin(), kernel.devices.end());
  if (!kernel.code_hashes.empty()) {
    merged.code.push_back(kernel.code_hashes);
  }
}

report::KernelTable table_of(std::map<std::string, Merged> all, std::vector<std::string> files) {
  report::KernelTable table;
  table.files = std::move(files);
  double time_ns = 0;
  std::vector<std::string> names;
  for (const auto& [name, merged] : all) {
    time_ns += merged.row.time_ns;
    names.push_back(name);
  }
  const report::PatternMaker patterns(names);
  for (auto& [name, merged] : all) {
    report::KernelRow& row = merged.row;
    row.share_percent = time_ns > 0 ? 100 * row.time_ns / time_ns : 0;
    row.mean_ns = row.time_ns / static_cast<double>(row.executions);
    row.devices.assign(merged.devices.begin(), merged.devices.end());
    row.pattern = patterns.pattern_for(name);
    row.code_differs = std::any_of(merged.code.begin(), merged.code.end(),
                                   [&](const auto& code) { return code != merged.code.front(); });
    table.rows.push_back(std::move(row));
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const auto& a, const auto& b) { return a.time_ns > b.time_ns; });
  return table;
}

}  // namespace

int run_kernels(const KernelsOptions& options) {
  std::map<std::string, Merged> all;
  for (size_t file = 0; file < options.files.size(); ++file) {
    const auto capture = read_any(options.files[file]);
    if (!capture) {
      return report_error(capture.error());
    }
    const auto kernels = list_kernels(*capture);
    if (kernels.empty()) {
      return report_error(no_kernels(*capture).error());
    }
    if (!capture->complete) {
      print_warning(options.files[file] + ": incomplete, its end is missing");
    }
    for (const ListedKernel& kernel : kernels) {
      add(all, kernel, file);
    }
  }
  const report::KernelTable table = table_of(std::move(all), options.files);
  const std::string text = options.json ? report::render_json(table, version()).dump(2) + "\n"
                                        : report::render_text(table, {100, colour_allowed(STDOUT_FILENO)});
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace kvet::cli
