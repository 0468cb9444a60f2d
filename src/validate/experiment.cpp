#include "validate/experiment.h"

#include <fmt/core.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/output_file.h"
#include "report/names.h"
#include "store/reader.h"
#include "validate/gpu_lock.h"
#include "validate/metric.h"
#include "validate/process.h"
#include "validate/result_files.h"
#include "verdict/comparison.h"
#include "verdict/statistics.h"

namespace kvet::validate {
namespace {

using verdict::Arm;

std::string time_text(double seconds) {
  return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

std::string absolute(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

class Experiment {
 public:
  Experiment(Plan plan, const ExperimentSettings& settings)
      : plan_(std::move(plan)), settings_(settings), started_ns_(now_ns()) {
    if (settings.quads) {
      plan_.quads = settings.quads;
    }
    if (settings.max_time_ns) {
      plan_.max_time_ns = settings.max_time_ns;
    }
  }

  Result<verdict::Verdict> run();

 private:
  Result<void> open_folder();
  Result<std::optional<std::string>> run_checks();  // the sentence of a failed one
  Result<void> run_isolated();
  Result<bool> run_stage(const Stage& stage, uint64_t blocks_before, uint64_t blocks_in_all);  // false: time is over
  Result<bool> look_at_first_pair(const Block& block);  // false: it will be refused whatever comes
  void show_running_ratio();
  Result<verdict::Verdict> decide() const;

  [[nodiscard]] verdict::ComparisonOptions comparison() const;
  [[nodiscard]] std::vector<verdict::Input> inputs(bool with_aa) const;
  [[nodiscard]] static Result<Capture> load(const verdict::Input& input) { return store::read_capture(input.path); }
  [[nodiscard]] bool time_for(uint64_t blocks) const;
  [[nodiscard]] double mean_block_seconds() const;
  void note(const std::string& line) const {
    if (settings_.note) {
      settings_.note(line);
    }
  }

  Plan plan_;
  const ExperimentSettings& settings_;
  int64_t started_ns_;
  RunSettings run_;
  Journal journal_;
  FileDescriptor lock_;
  std::optional<verdict::Frame> frame_;
  std::vector<verdict::BlockSummary> summaries_;
};

Result<void> Experiment::open_folder() {
  for (const char* sub : {"", "/captures", "/logs"}) {
    if (auto made = make_folder(settings_.folder + sub); !made) {
      return made;
    }
  }
  run_.folder = absolute(settings_.folder);
  run_.recorder = settings_.recorder;
  run_.progress = settings_.note;
  const bool begun = ::access(journal_path(run_.folder).c_str(), F_OK) == 0;
  if (begun && !settings_.resume) {
    return fail(ErrorKind::usage, "holds a run already", settings_.folder, "go on with --resume, or give another -o");
  }
  if (!begun) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    journal_.experiment = fmt::format("{:x}{:08x}{:x}", now.tv_sec, now.tv_nsec, ::getpid());
    journal_.plan = plan_.text;
    if (settings_.resume) {
      note("nothing to go on with in " + settings_.folder + ": beginning anew");
    }
    if (auto kept = write_whole_file(run_.folder + "/plan.toml", plan_.text); !kept) {
      return kept;
    }
  } else {
    auto journal = load_journal(run_.folder);
    if (!journal) {
      return std::unexpected(journal.error());
    }
    if (journal->plan != plan_.text) {
      return fail(ErrorKind::usage, "holds a run of another plan", settings_.folder,
                  "begin anew in another folder: blocks of two plans cannot be compared");
    }
    journal_ = std::move(*journal);
    std::erase_if(journal_.blocks, [&](const BlockResult& block) {
      return !block.capture.empty() && ::access((run_.folder + "/" + block.capture).c_str(), R_OK) != 0;
    });
    note(fmt::format("{} blocks are there already", journal_.blocks.size()));
  }
  run_.experiment = journal_.experiment;
  return save(journal_, run_.folder);
}

Result<std::optional<std::string>> Experiment::run_checks() {
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    std::string& state = arm == Arm::baseline ? journal_.check_baseline : journal_.check_candidate;
    const auto& check = arm == Arm::baseline ? plan_.baseline.check : plan_.candidate.check;
    if (!check) {
      state = "unchecked";
    }
    if (!state.empty()) {
      continue;
    }
    auto outcome = run_command(plan_, arm, *check, fmt::format("check-{}", verdict::name(arm)), run_);
    if (!outcome) {
      return std::unexpected(outcome.error());
    }
    // 126 and 127 are the shell's: the check did not run, so it says nothing about the kernel.
    if (outcome->status == 126 || outcome->status == 127) {
      return fail(ErrorKind::unavailable, "the check cannot be run", *check, tail_of(outcome->log));
    }
    if (outcome->status != 0) {
      return std::optional(fmt::format("the {}'s check failed with status {}; {}", verdict::name(arm), outcome->status,
                                       tail_of(outcome->log)));
    }
    state = "passed";
    note(fmt::format("check of the {} passed", verdict::name(arm)));
    if (auto saved = save(journal_, run_.folder); !saved) {
      return std::unexpected(saved.error());
    }
  }
  run_.check = journal_.check_candidate;
  return std::optional<std::string>{};
}

Result<void> Experiment::run_isolated() {
  if (!plan_.isolated) {
    return {};
  }
  const IsolatedPlan& isolated = *plan_.isolated;
  for (uint32_t pair = 0; pair < isolated.pairs; ++pair) {
    // Either order equally often, so that a drift does not favour an arm.
    std::array<Arm, 2> order{Arm::baseline, Arm::candidate};
    if (pair % 2 == 1) {
      std::swap(order[0], order[1]);
    }
    for (Arm arm : order) {
      auto done = std::any_of(journal_.isolated.begin(), journal_.isolated.end(),
                              [&](const IsolatedRun& run) { return run.pair == pair && run.arm == arm; });
      if (done) {
        continue;
      }
      const std::string& command = isolated.run           ? *isolated.run
                                   : arm == Arm::baseline ? *isolated.baseline
                                                          : *isolated.candidate;
      const std::string log_name = fmt::format("isolated-{}-{}", pair, verdict::name(arm));
      auto outcome = run_command(plan_, arm, command, log_name, run_);
      if (!outcome) {
        return std::unexpected(outcome.error());
      }
      if (outcome->status != 0) {
        return fail(ErrorKind::unavailable, fmt::format("failed with status {}", outcome->status), command,
                    tail_of(outcome->log));
      }
      auto output = read_file(outcome->log);
      auto value =
          output ? find_metric(isolated.metric, *output, log_name) : Result<double>(std::unexpected(output.error()));
      if (!value) {
        return std::unexpected(value.error());
      }
      journal_.isolated.push_back({arm, pair, *value});
      if (auto saved = save(journal_, run_.folder); !saved) {
        return saved;
      }
    }
  }
  const auto ratios = comparison().decision.isolated;
  for (const double ratio : ratios) {
    run_.isolated += fmt::format("{}{:.6g}", run_.isolated.empty() ? "" : ",", std::exp(ratio));
  }
  note(fmt::format("isolated: {:.3f} times as fast ({} pairs)", std::exp(verdict::mean(ratios)), ratios.size()));
  return {};
}

verdict::ComparisonOptions Experiment::comparison() const {
  verdict::ComparisonOptions options;
  options.frame = {plan_.kernels, plan_.step};
  options.decision.claim = plan_.claim;
  options.decision.claim_source = plan_.claim_source;
  options.decision.fixed_quads = plan_.quads.value_or(0);
  options.decision.overhead_budget = plan_.overhead_budget;
  options.decision.overhead = own_overhead(journal_, plan_);
  if (!plan_.metric && !server_of(plan_, Arm::baseline)) {
    options.decision.overhead_reason =
        "without a metric a program's run time would count the recorder's own start and end";
  }
  for (uint32_t pair = 0; plan_.isolated && pair < plan_.isolated->pairs; ++pair) {
    std::array<double, 2> values{};
    for (const IsolatedRun& run : journal_.isolated) {
      if (run.pair == pair) {
        values[static_cast<size_t>(run.arm)] = plan_.isolated->metric.higher_is_better ? 1 / run.value : run.value;
      }
    }
    if (values[0] > 0 && values[1] > 0) {
      options.decision.isolated.push_back(std::log(values[0] / values[1]));
    }
  }
  return options;
}

std::vector<verdict::Input> Experiment::inputs(bool with_aa) const {
  std::vector<verdict::Input> list;
  for (const BlockResult& block : journal_.blocks) {
    if (!block.capture.empty() && (with_aa || block.block.kind == BlockKind::ab)) {
      list.push_back({settings_.folder + "/" + block.capture, block.block.arm});
    }
  }
  return list;
}

double Experiment::mean_block_seconds() const {
  double sum = 0;
  for (const BlockResult& block : journal_.blocks) {
    sum += static_cast<double>(block.duration_ns) / 1e9;
  }
  return journal_.blocks.empty() ? 0 : sum / static_cast<double>(journal_.blocks.size());
}

bool Experiment::time_for(uint64_t blocks) const {
  if (!plan_.max_time_ns) {
    return true;
  }
  const double left = static_cast<double>(*plan_.max_time_ns - (now_ns() - started_ns_)) / 1e9;
  return left > static_cast<double>(blocks) * mean_block_seconds();
}

Result<bool> Experiment::look_at_first_pair(const Block& block) {
  auto pair = inputs(false);
  if (frame_ || block.kind != BlockKind::ab || pair.size() < 2 ||
      std::none_of(pair.begin(), pair.end(), [&](const verdict::Input& one) { return one.arm != pair.front().arm; })) {
    return true;
  }
  auto frame = verdict::find_frame(pair, {plan_.kernels, plan_.step}, load);
  if (!frame) {
    return std::unexpected(frame.error());
  }
  auto summaries = verdict::summarise_all(pair, *frame, load);
  if (!summaries) {
    return std::unexpected(summaries.error());
  }
  frame_ = std::move(*frame);
  summaries_ = std::move(*summaries);
  std::array<std::string, 2> names;
  std::array<size_t, 2> counts{};
  for (const verdict::KernelInSet& kernel : frame_->set.kernels) {
    for (size_t arm : {0U, 1U}) {
      if ((arm == 0 ? kernel.baseline : kernel.candidate) && ++counts[arm] <= 3) {
        names[arm] += (names[arm].empty() ? "" : ", ") + report::short_name(kernel.name, 40);
      }
    }
  }
  for (size_t arm : {0U, 1U}) {
    names[arm] += counts[arm] > 3 ? fmt::format(" and {} more", counts[arm] - 3) : counts[arm] == 0 ? "nothing" : "";
  }
  note(fmt::format("kernel set: {} against {}; a step is {}", names[0], names[1], frame_->steps.sentence));
  show_running_ratio();
  std::vector<const verdict::BlockSummary*> blocks;
  blocks.reserve(summaries_.size());
  for (const verdict::BlockSummary& summary : summaries_) {
    blocks.push_back(&summary);
  }
  const std::vector<verdict::OwnOverhead> none;
  const auto causes = verdict::refusals({blocks, plan_.claim, none, plan_.overhead_budget});
  if (!causes.empty()) {
    note("stopping: this measurement cannot pass. " + causes.front().what);
  }
  return causes.empty();
}

void Experiment::show_running_ratio() {
  auto list = inputs(false);
  // Only what is new; journal order and summary order are the same.
  for (size_t i = summaries_.size(); frame_ && i < list.size(); ++i) {
    auto added = verdict::summarise_all({list[i]}, *frame_, load);
    if (!added) {
      return;  // the look will say why
    }
    summaries_.push_back(std::move(added->front()));
  }
  if (auto ratio = verdict::running_ratio(summaries_)) {
    note(fmt::format("so far: the kernel set is {:.3f} times as fast ({} blocks, no verdict yet)",
                     std::exp(ratio->estimate), summaries_.size()));
  }
}

Result<bool> Experiment::run_stage(const Stage& stage, uint64_t blocks_before, uint64_t blocks_in_all) {
  for (size_t i = 0; i < stage.blocks.size(); ++i) {
    const Block& block = stage.blocks[i];
    if (journal_.find(block) != nullptr) {
      continue;
    }
    // A quad is begun only when there is time to end it.
    if (block.position == 0 && !journal_.blocks.empty() && !time_for(4)) {
      note("the time is over: deciding on what there is");
      return false;
    }
    auto result = run_block_until_fit(plan_, block, run_);
    if (!result) {
      return std::unexpected(result.error());
    }
    journal_.blocks.push_back(*result);
    if (auto saved = save(journal_, run_.folder); !saved) {
      return std::unexpected(saved.error());
    }
    const double each = mean_block_seconds();
    note(fmt::format("block {} of at most {}: {}, {}{}; about {} to the next look, at most {}", blocks_before + i + 1,
                     blocks_in_all, name(block), time_text(static_cast<double>(result->duration_ns) / 1e9),
                     result->metric ? fmt::format(", metric {:g}", *result->metric) : "",
                     time_text(each * static_cast<double>(stage.blocks.size() - i - 1)),
                     time_text(each * static_cast<double>(blocks_in_all - blocks_before - i - 1))));
    auto good = look_at_first_pair(block);
    if (!good || !*good) {
      return good;
    }
    if (block.kind == BlockKind::ab && block.position == 3) {
      show_running_ratio();
    }
  }
  return true;
}

Result<verdict::Verdict> Experiment::decide() const {
  auto verdict = verdict::compare(inputs(true), comparison(), load);
  uint64_t repeated = 0;
  for (const BlockResult& block : journal_.blocks) {
    repeated += block.repeated;
  }
  if (verdict && repeated > 0) {
    verdict->cautions.push_back({"repeated", fmt::format("{} recordings failed and were made again", repeated), ""});
  }
  return verdict;
}

Result<verdict::Verdict> Experiment::run() {
  if (auto opened = open_folder(); !opened) {
    return std::unexpected(opened.error());
  }
  auto lock = lock_gpu(plan_.device.value_or(""));
  if (!lock) {
    return std::unexpected(lock.error());
  }
  lock_ = std::move(*lock);
  auto failed = run_checks();
  if (!failed) {
    return std::unexpected(failed.error());
  }
  if (*failed) {
    return verdict::invalid_verdict(plan_.claim, **failed);
  }
  if (auto done = run_isolated(); !done) {
    return std::unexpected(done.error());
  }
  const auto stages = schedule(plan_.seed, plan_.quads.value_or(0), !settings_.no_aa);
  uint64_t before = 0, in_all = 0;
  for (const Stage& stage : stages) {
    in_all += stage.blocks.size();
  }
  for (const Stage& stage : stages) {
    auto in_time = run_stage(stage, before, in_all);
    if (!in_time) {
      return std::unexpected(in_time.error());
    }
    auto verdict = decide();
    const bool last = &stage == &stages.back();
    if (!verdict || !*in_time || last || verdict->word != verdict::Word::inconclusive) {
      return verdict;
    }
    note(fmt::format("look at {} quads: {}", stage.quads, verdict->headline));
    before += stage.blocks.size();
  }
  return fail(ErrorKind::internal, "no stage decided");
}

}  // namespace

Result<verdict::Verdict> run_experiment(Plan plan, const ExperimentSettings& settings) {
  Experiment experiment(std::move(plan), settings);
  auto verdict = experiment.run();
  if (verdict) {
    if (auto written = write_verdict(settings.folder, *verdict, settings.gate); !written) {
      return std::unexpected(written.error());
    }
  }
  return verdict;
}

}  // namespace kvet::validate
