#include "cli/experiment_command.h"

#include <time.h>

#include <cstdio>

#include "base/terminal.h"
#include "cli/verdict_output.h"
#include "validate/dry_run.h"
#include "validate/experiment.h"
#include "validate/process.h"

namespace kvet::cli {
namespace {

std::string folder_named_after_now() {
  char text[64];
  const time_t now = ::time(nullptr);
  tm local{};
  ::localtime_r(&now, &local);
  ::strftime(text, sizeof text, "kvet-%Y%m%d-%H%M%S", &local);
  return text;
}

int show_dry_run(const validate::DryRun& dry_run) {
  for (const validate::DryRunLine& line : dry_run.lines) {
    std::printf("%s %-12s %s\n", line.good ? "ok  " : "NOT ", line.subject.c_str(), line.text.c_str());
  }
  return dry_run.good() ? 0 : 69;
}

}  // namespace

int run_plan(validate::Plan plan, const ExperimentOptions& options, const std::string& plan_file,
             const std::string& resume_command) {
  validate::ExperimentSettings settings;
  settings.folder = options.output.empty() ? folder_named_after_now() : options.output;
  settings.resume = options.resume;
  settings.max_time_ns = options.max_time_ns;
  settings.quads = options.quads;
  settings.no_aa = options.no_aa;
  settings.gate = {options.accept, plan_file};
  settings.note = [](const std::string& line) { print_note(line); };
  if (options.resume && options.output.empty()) {
    return report_error({ErrorKind::usage, "needs to know which run to go on with", "--resume", "add -o FOLDER"});
  }
  if (options.dry_run) {
    return show_dry_run(validate::dry_run(plan, settings));
  }
  validate::watch_for_interrupt();
  auto verdict = validate::run_experiment(std::move(plan), settings);
  if (!verdict) {
    if (verdict.error().kind == ErrorKind::interrupted) {
      Error error = verdict.error();
      // A number of quads that was fixed beforehand stays fixed.
      error.advice = "finished blocks are kept. Go on: " + resume_command +
                     (options.quads ? " --quads " + std::to_string(*options.quads) : "") +
                     (options.no_aa ? " --no-aa" : "") + " --resume -o " + settings.folder;
      return report_error(error);
    }
    return report_error(verdict.error());
  }
  show_verdict(*verdict, options.format, settings.gate);
  print_note("everything is in " + settings.folder + ": the verdict in all formats, captures, logs");
  return status_of(*verdict, options.accept);
}

}  // namespace kvet::cli
