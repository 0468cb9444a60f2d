// kvet report: the four questions, kernel by kernel.
#include "report/report.h"

#include <unistd.h>

#include <cstdio>

#include "base/terminal.h"
#include "base/version.h"
#include "cli/capture_report.h"
#include "cli/commands.h"
#include "cli/read_any.h"
#include "import/ncu_csv.h"

namespace kvet::cli {

int run_report(const ReportOptions& options) {
  std::vector<report::CaptureReport> reports;
  std::optional<IsolatedProfile> isolated;
  if (!options.isolated.empty()) {
    auto profile = importing::read_ncu_csv(options.isolated);
    if (!profile) {
      return report_error(profile.error());
    }
    isolated = std::move(*profile);
  }
  for (const std::string& path : options.files) {
    auto capture = read_any(path);
    if (!capture) {
      return report_error(capture.error());
    }
    auto report = report_on(*capture, {options.kernels, options.window_ns, isolated ? &*isolated : nullptr});
    if (!report) {
      return report_error(report.error());
    }
    reports.push_back(std::move(*report));
  }
  std::string text;
  switch (options.format) {
    case ReportFormat::text: text = report::render_text(reports, {100, colour_allowed(STDOUT_FILENO)}); break;
    case ReportFormat::json: text = report::render_json(reports, version()).dump(2) + "\n"; break;
    case ReportFormat::markdown: text = report::render_markdown(reports); break;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace kvet::cli
