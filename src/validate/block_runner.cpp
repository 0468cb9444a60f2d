#include "validate/block_runner.h"

#include <dirent.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "store/reader.h"
#include "validate/metric.h"
#include "validate/process.h"
#include "validate/ready.h"
#include "validate/result_files.h"
#include "verdict/block_summary.h"

namespace kvet::validate {
namespace {

using verdict::Arm;

constexpr int64_t second = 1'000'000'000;
// How long a server may take after ^C, and the recorder to finish its file (indices over some 10 million rows).
constexpr int64_t server_patience_ns = 15 * second, recorder_patience_ns = 180 * second;
constexpr int64_t ready_interval_ns = 50'000'000;
// CUPTI hands over its records every 0.1 s (KVET_FLUSH_MS). A server that dies of SIGINT takes the rest with it, so it is
// left idle for a moment first: what ran under load has arrived by then.
constexpr int64_t settle_ns = second;

const ArmPlan& arm_of(const Plan& plan, Arm arm) { return arm == Arm::baseline ? plan.baseline : plan.candidate; }

std::unexpected<Error> stopped() {
  return fail(ErrorKind::interrupted, "interrupted", "", "go on with --resume -o and the same folder");
}

std::string log_path(const RunSettings& settings, const std::string& name) {
  return settings.folder + "/logs/" + name + ".log";
}

// `kvet record … -- env NAME=value … sh -c COMMAND`: the recorder gives the command its user's environment, so the arm's
// variables go into the command line.
Launch recorded(const Plan& plan, const Block& block, const std::string& command, const std::string& capture,
                const RunSettings& settings) {
  Launch launch;
  launch.as_invoking_user = false;  // the recorder needs its privileges, and drops them for the command
  launch.folder = plan.folder;
  launch.arguments = {settings.recorder, "record", "-o", capture};
  auto option = [&](const char* name, const std::optional<std::string>& value) {
    if (value) {
      launch.arguments.insert(launch.arguments.end(), {name, *value});
    }
  };
  option("--counters", plan.recording.counters);
  option("--interval", plan.recording.interval);
  option("--tier", plan.recording.tier);
  const std::pair<const char*, std::string> facts[] = {{"id", settings.experiment},
                                                       {"arm", verdict::name(block.arm)},
                                                       {"kind", name(block.kind)},
                                                       {"quad", std::to_string(block.quad)},
                                                       {"position", std::to_string(block.position)},
                                                       {"seed", std::to_string(plan.seed)},
                                                       {"check", settings.check}};
  for (const auto& [key, value] : facts) {
    launch.arguments.insert(launch.arguments.end(), {"--meta", fmt::format("experiment.{}={}", key, value)});
  }
  launch.arguments.insert(launch.arguments.end(), {"--", "/usr/bin/env"});
  for (const auto& [variable, value] : environment_of(plan, block.arm)) {
    launch.arguments.push_back(fmt::format("{}={}", variable, value));
  }
  launch.arguments.insert(launch.arguments.end(), {"/bin/sh", "-c", command});
  return launch;
}

Launch unrecorded(const Plan& plan, Arm arm, const std::string& command) {
  Launch launch = shell(command);
  launch.folder = plan.folder;
  launch.environment = environment_of(plan, arm);
  return launch;
}

struct Stat {
  pid_t parent = 0, group = 0;
};
std::optional<Stat> stat_of(pid_t pid) {
  auto text = read_file(fmt::format("/proc/{}/stat", pid));
  // The name in parentheses may hold anything; the fields after its last ")" are "state ppid pgrp".
  size_t close = text ? text->rfind(')') : std::string::npos;
  Stat stat;
  char state = 0;
  if (close == std::string::npos ||
      std::sscanf(text->c_str() + close + 1, " %c %d %d", &state, &stat.parent, &stat.group) != 3) {
    return std::nullopt;
  }
  return stat;
}

std::string program_of(const std::string& process) {
  char path[4096];
  ssize_t length = ::readlink(("/proc/" + process + "/exe").c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

// The recorder puts the command into a process group of its own, and may have other children, which are kvet itself.
pid_t group_of_command(pid_t recorder) {
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) {
    return 0;
  }
  const std::string own = program_of(std::to_string(recorder));
  pid_t found = 0;
  while (const dirent* entry = ::readdir(processes)) {
    const pid_t pid = std::atoi(entry->d_name);
    auto stat = pid > 0 ? stat_of(pid) : std::nullopt;
    if (stat && stat->parent == recorder && stat->group == pid && program_of(entry->d_name) != own) {
      found = pid;
      break;
    }
  }
  ::closedir(processes);
  return found;
}

bool group_gone(pid_t group, ChildProcess& recorder, int64_t patience_ns) {
  const int64_t deadline = now_ns() + patience_ns;
  while (now_ns() < deadline) {
    recorder.poll();
    if (::kill(-group, 0) != 0 && errno == ESRCH) {
      return true;
    }
    pause_ns(ready_interval_ns);
  }
  return false;
}

// Ends the command under the recorder, and lets the recorder finish its file.
Result<void> stop_recorded(ChildProcess& recorder, const std::string& name) {
  if (const pid_t group = group_of_command(recorder.id()); group > 0) {
    bool gone = false;
    for (int signal : {SIGINT, SIGTERM, SIGKILL}) {
      gone = gone || (::kill(-group, signal) != 0 && errno == ESRCH) || group_gone(group, recorder, server_patience_ns);
    }
  }
  const int64_t deadline = now_ns() + recorder_patience_ns;
  while (!recorder.poll() && now_ns() < deadline) {
    pause_ns(ready_interval_ns);
  }
  if (!recorder.poll()) {
    recorder.stop(recorder_patience_ns);
    return fail(ErrorKind::unavailable, "a process of the server lives on outside its process group", name,
                "end it by hand, and let the server end its workers when it is interrupted");
  }
  return {};
}

Result<void> wait_until_ready(const Plan& plan, ChildProcess& server, const std::string& name, const std::string& log) {
  const ReadyUrl url = *parse_ready_url(*plan.ready);
  const int64_t deadline = now_ns() + plan.ready_timeout_ns;
  while (now_ns() < deadline) {
    if (interrupted()) {
      return stopped();
    }
    if (auto status = server.poll()) {
      return fail(ErrorKind::unavailable, fmt::format("the server ended with status {} before it was ready", *status),
                  name, tail_of(log));
    }
    if (ask(url) == Answer::ready) {
      return {};
    }
    pause_ns(ready_interval_ns);
  }
  return fail(ErrorKind::unavailable,
              fmt::format("the server did not answer at {} within {} s", *plan.ready, plan.ready_timeout_ns / second),
              name, tail_of(log));
}

// A command that must end well, beside the server.
Result<std::string> run_beside(const Plan& plan, Arm arm, const std::string& command, const std::string& what,
                               const std::string& log) {
  Launch launch = unrecorded(plan, arm, command);
  launch.output = log;
  auto child = ChildProcess::start(launch);
  if (!child) {
    return std::unexpected(child.error());
  }
  auto status = child->wait(plan.timeout_ns);
  if (!status) {
    child->stop(second);
    if (interrupted()) {
      return stopped();
    }
    return fail(ErrorKind::unavailable, fmt::format("took longer than the timeout of {} s", plan.timeout_ns / second),
                what, "raise [workload] timeout, or shorten it");
  }
  if (*status != 0) {
    return fail(ErrorKind::unavailable, fmt::format("failed with status {}", *status), what, tail_of(log));
  }
  return read_file(log);
}

struct Measured {
  int64_t from_ns = 0, to_ns = 0;
  std::string output;
};

Result<Measured> under_load(const Plan& plan, const Block& block, const RunSettings& settings, ChildProcess& server,
                            const std::string& server_log) {
  const std::string block_name = name(block);
  if (auto ready = wait_until_ready(plan, server, block_name, server_log); !ready) {
    return std::unexpected(ready.error());
  }
  if (plan.warmup) {
    auto warm = run_beside(plan, block.arm, *plan.warmup, "warmup", log_path(settings, block_name + ".warmup"));
    if (!warm) {
      return std::unexpected(warm.error());
    }
  }
  Measured measured;
  measured.from_ns = now_ns();
  auto output =
      run_beside(plan, block.arm, *load_of(plan, block.arm), "load", log_path(settings, block_name + ".load"));
  measured.to_ns = now_ns();
  if (!output) {
    return std::unexpected(output.error());
  }
  measured.output = std::move(*output);
  if (auto status = server.poll()) {
    return fail(ErrorKind::unavailable, fmt::format("the server ended with status {} under load", *status), block_name,
                tail_of(server_log));
  }
  return measured;
}

// The recorder and the program that it runs share a log. What the recorder says of itself is no figure of the workload's.
std::string without_own_lines(const std::string& output) {
  std::string rest;
  for (std::string_view line : split(output, '\n')) {
    if (!line.starts_with("kvet: ")) {
      rest.append(line) += '\n';
    }
  }
  return rest;
}

Result<Measured> to_its_end(const Plan& plan, const Block& block, ChildProcess& program, const std::string& log,
                            int64_t started_ns, bool is_recorded) {
  auto status = program.wait(plan.timeout_ns);
  if (!status) {
    if (is_recorded) {
      [[maybe_unused]] auto ended = stop_recorded(program, name(block));
    } else {
      program.stop(second);
    }
    if (interrupted()) {
      return stopped();
    }
    return fail(ErrorKind::unavailable, fmt::format("took longer than the timeout of {} s", plan.timeout_ns / second),
                name(block), "raise [workload] timeout, or shorten the run");
  }
  if (*status != 0) {
    return fail(ErrorKind::unavailable, fmt::format("failed with status {}", *status), name(block), tail_of(log));
  }
  auto output = read_file(log);
  if (!output) {
    return std::unexpected(output.error());
  }
  return Measured{started_ns + plan.warmup_ns.value_or(0), now_ns(),
                  is_recorded ? without_own_lines(*output) : std::move(*output)};
}

// What became known only while the block ran.
Result<void> annotate(const Plan& plan, const BlockResult& result, const std::string& path,
                      const std::string& isolated) {
  std::vector<Meta> facts{{"window.from_ns", std::to_string(result.load_from_ns)},
                          {"window.to_ns", std::to_string(result.load_to_ns)}};
  if (plan.claim) {
    facts.push_back({"experiment.claim", fmt::format("{}", *plan.claim)});
  }
  if (const auto& claim = plan.claim_source) {
    facts.push_back({"experiment.claim_source", fmt::format("{}\n{}\n{}", claim->format, claim->file, claim->id)});
    facts.push_back({"experiment.claim_device", claim->device});
    if (!claim->known_correct) {
      facts.push_back({"experiment.claim_unverified", "1"});
    }
    if (claim->baseline_ns && claim->candidate_ns) {
      facts.push_back({"experiment.claim_ns", fmt::format("{},{}", *claim->baseline_ns, *claim->candidate_ns)});
    }
  }
  if (plan.quads) {
    facts.push_back({"experiment.fixed_quads", std::to_string(*plan.quads)});
  }
  if (result.metric) {
    facts.push_back({"experiment.metric", fmt::format("{}", *result.metric)});
    facts.push_back({"experiment.metric_better", plan.metric->higher_is_better ? "higher" : "lower"});
  }
  // So that `kvet compare` comes to the same verdict from the captures alone.
  if (plan.step) {
    facts.push_back({"experiment.step", *plan.step});
  }
  if (!isolated.empty()) {
    facts.push_back({"experiment.isolated", isolated});
  }
  return store::annotate(path, facts);
}

}  // namespace

Environment environment_of(const Plan& plan, Arm arm) {
  Environment environment = plan.environment;
  for (const auto& [variable, value] : arm_of(plan, arm).environment) {
    environment[variable] = value;
  }
  if (plan.device) {
    environment["CUDA_VISIBLE_DEVICES"] = *plan.device;
  }
  return environment;
}

std::optional<std::string> server_of(const Plan& plan, Arm arm) {
  const auto& own = arm_of(plan, arm).server;
  return own ? own : plan.server;
}
std::optional<std::string> load_of(const Plan& plan, Arm arm) {
  const auto& own = arm_of(plan, arm).load;
  return own ? own : plan.load;
}
std::optional<std::string> run_of(const Plan& plan, Arm arm) {
  const auto& own = arm_of(plan, arm).run;
  return own ? own : plan.run;
}

Result<CommandOutcome> run_command(const Plan& plan, Arm arm, const std::string& command, const std::string& log_name,
                                   const RunSettings& settings) {
  Launch launch = unrecorded(plan, arm, command);
  CommandOutcome outcome;
  outcome.log = launch.output = log_path(settings, log_name);
  auto child = ChildProcess::start(launch);
  if (!child) {
    return std::unexpected(child.error());
  }
  auto status = child->wait(plan.timeout_ns);
  if (!status) {
    child->stop(second);
    if (interrupted()) {
      return stopped();
    }
    return fail(ErrorKind::unavailable, fmt::format("took longer than the timeout of {} s", plan.timeout_ns / second),
                command, "raise [workload] timeout");
  }
  outcome.status = *status;
  return outcome;
}

Result<BlockResult> run_block(const Plan& plan, const Block& block, const RunSettings& settings) {
  const std::string block_name = name(block);
  const bool is_recorded = block.kind != BlockKind::unrecorded;
  const auto server = server_of(plan, block.arm);
  if (server && ask(*parse_ready_url(*plan.ready)) != Answer::nothing) {
    return fail(ErrorKind::unavailable, "something answers there before the server was started", *plan.ready,
                "end it, or use another port: it would be measured instead");
  }
  BlockResult result;
  result.block = block;
  const int64_t started = now_ns();
  const std::string command = server ? *server : *run_of(plan, block.arm);
  const std::string capture = settings.folder + "/captures/" + block_name + ".kvet";
  const std::string log = log_path(settings, block_name + (server ? ".server" : ".run"));
  if (is_recorded) {
    ::unlink(capture.c_str());  // what an interrupted run left
  }
  Launch launch =
      is_recorded ? recorded(plan, block, command, capture, settings) : unrecorded(plan, block.arm, command);
  launch.output = log;
  auto child = ChildProcess::start(launch);
  if (!child) {
    return std::unexpected(child.error());
  }
  auto measured = server ? under_load(plan, block, settings, *child, log)
                         : to_its_end(plan, block, *child, log, started, is_recorded);
  if (server) {
    Result<void> ended;
    if (is_recorded) {
      if (measured) {
        pause_ns(settle_ns);
      }
      ended = stop_recorded(*child, block_name);
    } else {
      child->stop(server_patience_ns);
    }
    if (measured && !ended) {
      return std::unexpected(ended.error());
    }
  }
  if (!measured) {
    return std::unexpected(measured.error());
  }
  result.load_from_ns = measured->from_ns;
  result.load_to_ns = measured->to_ns;
  if (plan.metric) {
    auto metric = find_metric(*plan.metric, measured->output, block_name);
    if (!metric) {
      return std::unexpected(metric.error());
    }
    result.metric = *metric;
  }
  if (is_recorded) {
    if (::access(capture.c_str(), R_OK) != 0) {
      return fail(ErrorKind::unavailable, "the recorder left no capture", block_name, tail_of(log));
    }
    if (auto noted = annotate(plan, result, capture, settings.isolated); !noted) {
      return std::unexpected(noted.error());
    }
    result.capture = "captures/" + block_name + ".kvet";
  }
  result.duration_ns = now_ns() - started;
  return result;
}

Result<BlockResult> run_block_until_fit(const Plan& plan, const Block& block, const RunSettings& settings) {
  constexpr uint32_t tries = 3;
  for (uint32_t repeated = 0;; ++repeated) {
    auto result = run_block(plan, block, settings);
    if (!result || result->capture.empty()) {
      return result;
    }
    result->repeated = repeated;
    auto capture = store::read_capture(settings.folder + "/" + result->capture);
    if (!capture) {
      return std::unexpected(capture.error());
    }
    const auto faults = verdict::recording_faults(*capture);
    if (faults.empty() || repeated + 1 == tries) {
      return result;
    }
    if (settings.progress) {
      settings.progress(fmt::format("{} is made again: {}", name(block), faults.front()));
    }
  }
}

}  // namespace kvet::validate
