#include "validate/dry_run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "capability/assess.h"
#include "store/reader.h"
#include "validate/gpu_lock.h"
#include "validate/ready.h"
#include "verdict/distributions.h"
#include "verdict/frame.h"
#include "verdict/statistics.h"
#include "verdict/where_it_went.h"

namespace kvet::validate {
namespace {

using verdict::Arm;

bool executable(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

// The program that a shell command begins with: behind assignments. "" where it begins with something else.
std::string first_program(const std::string& command) {
  for (std::string_view word : split(trimmed(command), ' ')) {
    const size_t equals = word.find('=');
    const bool assignment = equals != std::string_view::npos && equals > 0 && word.find('/') > equals;
    if (!word.empty() && !assignment) {
      return word.find_first_of("'\"$`(){};|&<>") == std::string_view::npos ? std::string(word) : "";
    }
  }
  return "";
}

std::optional<std::string> find_program(const std::string& program, const std::string& folder) {
  if (program.find('/') != std::string::npos) {
    const std::string path = program.front() == '/' || folder.empty() ? program : folder + "/" + program;
    return executable(path) ? std::optional(path) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  for (std::string_view part : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    std::string candidate = std::string(part.empty() ? "." : part) + "/" + program;
    if (executable(candidate)) {
      return candidate;
    }
  }
  // What the shell does itself.
  const std::vector<std::string_view> builtins{"cd",  "exec",  "export", "test",   "[",     "true", "false", "if",
                                               "for", "while", "set",    "ulimit", "umask", ".",    ":"};
  return std::find(builtins.begin(), builtins.end(), program) != builtins.end() ? std::optional(program) : std::nullopt;
}

class Report {
 public:
  void add(bool good, const std::string& subject, const std::string& text) {
    report.lines.push_back({good, subject, text});
  }

  void command(const std::string& subject, const std::optional<std::string>& command, const std::string& folder) {
    if (!command) {
      return;
    }
    const std::string program = first_program(*command);
    auto found = program.empty() ? std::nullopt : find_program(program, folder);
    if (program.empty()) {
      add(true, subject, "a shell command, which is not looked into: " + printable(*command).substr(0, 60));
    } else {
      add(found.has_value(), subject, found ? *found : program + " is not found");
    }
  }
  DryRun report;
};

void add_plan(Report& report, const Plan& plan) {
  if (plan.claim) {
    auto cuts = verdict::cuts_for_claim(plan.claim);
    report.add(true, "claim",
               fmt::format("{}: SURVIVES from {:.3f} on, VANISHES within ±{:.0f}%", *plan.claim,
                           std::exp(*cuts->threshold), 100 * (verdict::margin_ratio - 1)) +
                   (plan.claim_source ? fmt::format(" (of {}, {})", printable(plan.claim_source->id).substr(0, 200),
                                                    plan.claim_source->format)
                                      : ""));
  } else {
    report.add(true, "claim", "none: no gain can be SURVIVES");
  }
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    const ArmPlan& own = arm == Arm::baseline ? plan.baseline : plan.candidate;
    report.command("server", server_of(plan, arm), plan.folder);
    report.command("load", load_of(plan, arm), plan.folder);
    report.command("run", run_of(plan, arm), plan.folder);
    report.command("check", own.check, plan.folder);
  }
  report.command("warmup", plan.warmup, plan.folder);
  if (plan.isolated) {
    report.command("isolated", plan.isolated->run, plan.folder);
    report.command("isolated", plan.isolated->baseline, plan.folder);
    report.command("isolated", plan.isolated->candidate, plan.folder);
  }
  if (!plan.baseline.check && !plan.candidate.check) {
    report.add(true, "check", "none: the headline will say \"outputs unchecked\"");
  }
  if (!plan.metric) {
    report.add(true, "metric", "none: nothing guards the end to end");
  }
  if (plan.ready) {
    const bool free = ask(*parse_ready_url(*plan.ready)) == Answer::nothing;
    report.add(free, "ready",
               free ? *plan.ready + " is free" : "something answers at " + *plan.ready + " already: end it");
  }
}

void add_machine(Report& report, const Plan& plan) {
  const auto assessment = capability::assess(capability::System::current(), capability::try_bpf());
  const bool kernels = assessment.command == capability::Tier::unprivileged ||
                       assessment.command == capability::Tier::device || assessment.command == capability::Tier::full;
  report.add(kernels, "tier",
             fmt::format("{}: {}{}", capability::name(assessment.command), capability::gives(assessment.command),
                         kernels ? "" : "; `kvet doctor` says what is missing"));
  std::string gpus;
  for (const auto& gpu : assessment.driver.gpus) {
    gpus += (gpus.empty() ? "" : ", ") + gpu.model;
  }
  report.add(!gpus.empty(), "GPU", gpus.empty() ? "none seen" : gpus + ", driver " + assessment.driver.version);
  auto lock = lock_gpu(plan.device.value_or(""));
  report.add(lock.has_value(), "lock", lock ? "no other experiment runs" : lock.error().message());
}

// What earlier blocks of this plan know: noise of the baseline against itself, and the set's share of the step.
void add_earlier(Report& report, const Plan& plan, const Journal& journal, const std::string& folder) {
  std::vector<verdict::Input> inputs;
  for (const BlockResult& block : journal.blocks) {
    if (!block.capture.empty()) {
      inputs.push_back({folder + "/" + block.capture, block.block.arm});
    }
  }
  auto load = [](const verdict::Input& input) { return store::read_capture(input.path); };
  auto frame = verdict::find_frame(inputs, {plan.kernels, plan.step}, load);
  auto blocks = frame ? verdict::summarise_all(inputs, *frame, load)
                      : Result<std::vector<verdict::BlockSummary>>(std::unexpected(frame.error()));
  if (!blocks) {
    report.add(true, "effect", "not known: " + blocks.error().message());
    return;
  }
  const verdict::Grouping grouping = verdict::group(*blocks);
  auto units = verdict::contrasts(*blocks, grouping.aa_quads, verdict::set_time_per_step);
  if (auto interval = units ? verdict::t_interval(*units, verdict::look_confidence) : std::nullopt) {
    // At the last look, an estimate this far beyond m is told from nothing.
    const double last = static_cast<double>(verdict::looks.back());
    const double half =
        verdict::t_half_width(verdict::look_confidence, last - 1) * interval->deviation / std::sqrt(last);
    report.add(true, "effect",
               fmt::format("from {} A/A quads: a ratio of {:.3f} can be told from nothing with {} quads", units->size(),
                           verdict::margin_ratio * std::exp(half), verdict::looks.back()));
  } else {
    report.add(true, "effect", "not known: fewer than two A/A quads so far");
  }
  const verdict::Basis basis(*blocks, grouping, 0);
  if (auto share = verdict::set_share_of_step(*blocks, basis); share && plan.claim) {
    report.add(
        true, "ceiling",
        fmt::format("the set is {:.1f}% of the step: even the full claim makes the step at most {:.3f} times as fast",
                    100 * *share, 1 / (1 - *share + *share / *plan.claim)));
  }
}

std::string minutes(double seconds) { return fmt::format("{:.0f} min", std::max(1.0, seconds / 60)); }

void add_time(Report& report, const Plan& plan, const ExperimentSettings& settings, const Journal* journal) {
  const auto stages = schedule(plan.seed, settings.quads.value_or(plan.quads.value_or(0)), !settings.no_aa);
  size_t all = 0;
  for (const Stage& stage : stages) {
    all += stage.blocks.size();
  }
  std::string text = fmt::format("{} blocks to the first look, at most {}", stages.front().blocks.size(), all);
  double seconds = 0;
  for (const BlockResult& block : journal != nullptr ? journal->blocks : std::vector<BlockResult>{}) {
    seconds += static_cast<double>(block.duration_ns) / 1e9 / static_cast<double>(journal->blocks.size());
  }
  text += seconds > 0
              ? fmt::format(": {} to {}", minutes(seconds * static_cast<double>(stages.front().blocks.size())),
                            minutes(seconds * static_cast<double>(all)))
              : ", each as long as one start of the workload and one load; the time is known after the first block";
  report.add(true, "time", text);
}

}  // namespace

bool DryRun::good() const {
  return std::all_of(lines.begin(), lines.end(), [](const DryRunLine& line) { return line.good; });
}

DryRun dry_run(const Plan& plan, const ExperimentSettings& settings) {
  Report report;
  add_plan(report, plan);
  add_machine(report, plan);
  std::optional<Journal> journal;
  if (::access(journal_path(settings.folder).c_str(), R_OK) == 0) {
    if (auto loaded = load_journal(settings.folder)) {
      journal = std::move(*loaded);
    } else {
      report.add(false, "folder", loaded.error().message());
    }
  }
  if (journal && !journal->blocks.empty()) {
    add_earlier(report, plan, *journal, settings.folder);
  } else {
    report.add(true, "effect", "not known before A/A quads have run; give -o and the folder of an earlier run");
  }
  add_time(report, plan, settings, journal ? &*journal : nullptr);
  return std::move(report.report);
}

}  // namespace kvet::validate
