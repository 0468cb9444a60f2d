// The command line. Commands that work on files alone are defined in arguments_files.cpp.
#include "cli/arguments.h"

#include <algorithm>

#include "base/text.h"
#include "base/version.h"
#include "cli/arguments_common.h"
#include "cli/arguments_files.h"
#include "import/claims/claims.h"

namespace kvet::cli {

namespace {

// The last one given counts, a number or a file.
void add_claim(CLI::App& app, std::optional<double>& number, std::string& file) {
  app.add_option_function<std::string>(
         "--claim",
         [&number, &file](const std::string& text) {
           auto ratio = parse_claim(text);
           if (!ratio && importing::names_a_claim_file(text)) {
             number.reset();
             file = text;
           } else {
             number = value_or_refuse(ratio);
             file.clear();
           }
         },
         "What was claimed: baseline time ÷ candidate time, such as 1.38, or FILE#ID in a benchmark's result file "
         "(docs/claims.md)")
      ->type_name("R");
}

void add_accept(CLI::App& app, std::vector<std::string>& into) {
  app.add_option_function<std::string>(
         "--accept",
         [&into](const std::string& text) {
           into.clear();
           for (std::string_view part : split(text, ',')) {
             const std::string_view word = trimmed(part);
             if (std::find(std::begin(verdict_words), std::end(verdict_words), word) == std::end(verdict_words)) {
               std::string all;
               for (const char* known : verdict_words) {
                 all += (all.empty() ? "" : ", ") + std::string(known);
               }
               refuse({ErrorKind::usage, "'" + std::string(word) + "' is not a word of a verdict", "--accept",
                       "Words are " + all});
             }
             into.emplace_back(word);
           }
         },
         "Words that count as success (exit status 0), separated by commas")
      ->type_name("WORDS");
}

void add_verdict_format(CLI::App& app, VerdictFormat& into) {
  add_format<VerdictFormat>(app, into,
                            {{"text", VerdictFormat::text},
                             {"json", VerdictFormat::json},
                             {"markdown", VerdictFormat::markdown},
                             {"junit", VerdictFormat::junit},
                             {"sarif", VerdictFormat::sarif}},
                            "text|json|markdown|junit|sarif");
}

void add_experiment(CLI::App& app, ExperimentOptions& options) {
  app.add_option("-o,--output", options.output, "Folder for captures, and for the verdict in all formats")
      ->type_name("DIR");
  app.add_flag("--dry-run", options.dry_run,
               "Check everything, say what can be resolved and how long it takes, and stop");
  app.add_flag("--resume", options.resume, "Go on in the folder of an interrupted run");
  add_accept(app, options.accept);
  add_duration(app, "--max-time", [&](int64_t value) { options.max_time_ns = value; }, "Stop after this long");
  app.add_option("--quads", options.quads, "Number of ABBA quads instead of looking at 4, 8 and 16")
      ->type_name("N")
      ->check(CLI::Range(1U, 10000U));
  app.add_flag("--no-aa", options.no_aa, "Leave out the baseline-against-itself quads: the word is at most \"likely\"");
  add_verdict_format(app, options.format);
}

void define(CLI::App& app, RecordOptions& options) {
  app.add_option("-o,--output", options.output, "The capture to write")->type_name("FILE")->capture_default_str();
  app.add_option("--pid", options.pid, "Record a running process; nothing is injected into it")
      ->type_name("PID")
      ->check(CLI::Range(1, 4194304));  // the largest pid_max that Linux allows
  add_duration(
      app, "--duration", [&](int64_t value) { options.duration_ns = value; },
      "Stop after this long (the command is left to run on)");
  add_duration(app, "--delay", [&](int64_t value) { options.delay_ns = value; }, "Begin this long after the start");
  add_choice<CountersChoice>(
      app, "--counters", options.counters,
      {{"pm", CountersChoice::pm}, {"gpm", CountersChoice::gpm}, {"off", CountersChoice::off}}, "pm|gpm|off",
      "Hardware counters: performance-monitor sampling, NVML's GPM (100 ms and longer), or none. Default: pm");
  add_duration(
      app, "--interval", [&](int64_t value) { options.interval_ns = value; },
      "Between two counter samples, such as 20us");
  app.add_flag("--detail", options.detail,
               "Sample instructions, tensor cycles and L2 sectors, too: half as much again of what sampling costs");
  add_duration(
      app, "--burst", [&](int64_t value) { options.burst_ns = value; },
      "How long the bursts last in which samples come every 10us, at random times; 0s: none. Default: 5ms, at most "
      "10ms");
  add_duration(
      app, "--burst-every", [&](int64_t value) { options.burst_every_ns = value; },
      "How far bursts are apart on average; each takes 0.4s without other samples. Default: 30s");
  app.add_flag_callback(
      "--no-pulses", [&options] { options.pulses = false; },
      "Run no kernels of kvet's own: they fix the counters' clock, 2 ms before the start and 2 ms after the end");
  app.add_flag_callback(
      "--pulses", [&options] { options.pulses = true; },
      "Run them beside a running target, too: that takes memory of the GPU, and its calls may wait for 0.2 s");
  add_choice<TierChoice>(app, "--tier", options.tier,
                         {{"auto", TierChoice::automatic},
                          {"host", TierChoice::host},
                          {"unprivileged", TierChoice::unprivileged},
                          {"device", TierChoice::device},
                          {"full", TierChoice::full}},
                         "auto|host|unprivileged|device|full",
                         "How much to record. auto takes the most that `kvet doctor` finds possible");
  app.add_option_function<std::vector<std::string>>(
         "--meta",
         [&](const std::vector<std::string>& pairs) {
           options.meta.clear();
           for (const std::string& pair : pairs) {
             const size_t equals = pair.find('=');
             if (equals == 0 || equals == std::string::npos) {
               refuse({ErrorKind::usage, "'" + pair + "' is not key=value", "--meta", ""});
             }
             options.meta.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
           }
         },
         "A fact to keep in the capture; may be given several times")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--discard", options.discard)->group("");
  app.footer(
      "Examples:\n"
      "  kvet record -o run.kvet -- python serve.py --port 8000\n"
      "  kvet record --delay 30s --duration 20s --interval 20us -o load.kvet -- ./server\n"
      "  kvet record --pid 4711 --duration 10s -o running.kvet");
}

void define(CLI::App& app, ReportOptions& options) {
  app.add_option("FILE", options.files, "Captures; several are ranks or repetitions of one workload")->required();
  add_kernels(app, options.kernels, "all kernels, the longest-running first");
  app.add_option_function<std::string>(
         "--window",
         [&](const std::string& text) {
           const auto parts = split(text, ',');
           if (parts.size() != 2) {
             refuse({ErrorKind::usage, "'" + text + "' is not FROM,TO", "--window", "Write two times: 10s,40s"});
           }
           const int64_t from = value_or_refuse(parse_duration_ns(parts[0], "--window"));
           const int64_t to = value_or_refuse(parse_duration_ns(parts[1], "--window"));
           if (from >= to) {
             refuse({ErrorKind::usage, "'" + text + "' ends before it begins", "--window", "Write FROM,TO: 10s,40s"});
           }
           options.window_ns = {from, to};
         },
         "Only this part, as times since the beginning of the recording")
      ->type_name("FROM,TO");
  app.add_option("--isolated", options.isolated,
                 "Nsight Compute's CSV of the same kernels (ncu --csv): occupancy, DRAM, cycles here against there")
      ->type_name("FILE");
  add_format<ReportFormat>(
      app, options.format,
      {{"text", ReportFormat::text}, {"json", ReportFormat::json}, {"markdown", ReportFormat::markdown}},
      "text|json|markdown");
  app.footer(
      "Examples:\n"
      "  kvet report run.kvet --kernel rms_norm\n"
      "  kvet report run.kvet --window 10s,40s --json");
}

void define(CLI::App& app, KernelsOptions& options) {
  app.add_option("FILE", options.files, "Captures")->required();
  add_json(app, options.json);
  app.footer(
      "Examples:\n"
      "  kvet kernels run.kvet\n"
      "  kvet kernels stock.kvet generated.kvet");
}

void define(CLI::App& app, CompareOptions& options) {
  app.add_option("BASE", options.baseline, "Captures of the baseline")->required();
  app.add_option("--against", options.candidate, "Captures of the candidate")->type_name("CAND...")->required();
  add_claim(app, options.claim, options.claim_file);
  add_kernels(app, options.kernels, "what only one arm ran");
  add_accept(app, options.accept);
  app.add_option("--isolated", options.isolated,
                 "Capture of the candidate's microbenchmark: DRAM bytes per execution here against there; or Nsight "
                 "Compute's CSV of it: occupancy, cycles and duration, too")
      ->type_name("FILE");
  add_output(app, options.output, "Folder for the verdict in all formats")->type_name("DIR");
  add_verdict_format(app, options.format);
  app.footer(
      "Examples:\n"
      "  kvet compare stock-*.kvet --against generated-*.kvet --claim 1.38\n"
      "  kvet compare stock.kvet --against generated.kvet --kernel rms_norm --json");
}

void define(CLI::App& app, TryOptions& options) {
  app.add_option("--base", options.baseline, "Command line of the baseline")->type_name("CMD")->required();
  app.add_option("--cand", options.candidate, "Command line of the candidate")->type_name("CMD")->required();
  add_claim(app, options.claim, options.claim_file);
  add_kernels(app, options.kernels, "what only one arm runs");
  app.add_option("--metric", options.metric, "Finds the workload's own figure in its output; one group")
      ->type_name("RE");
  app.add_flag("--lower-is-better", options.lower_is_better, "A smaller figure is the better one, as with latencies");
  app.add_option("--check", options.check, "Command that exits 0 when the candidate's output is right")
      ->type_name("CMD");
  add_experiment(app, options.experiment);
  app.footer(
      "Example:\n"
      "  kvet try --base 'NORM=stock python run.py' --cand 'NORM=generated python run.py' --claim 1.38 \\\n"
      "           --metric 'throughput: ([0-9.]+) tok/s'");
}

void define(CLI::App& app, InitOptions& options) {
  app.add_option("-o,--output", options.output, "The plan to write")->type_name("FILE")->capture_default_str();
  app.footer("Example:\n  kvet init -o plan.toml && $EDITOR plan.toml && kvet validate plan.toml --dry-run");
}

void define(CLI::App& app, ValidateOptions& options) {
  app.add_option("PLAN", options.plan, "The plan (kvet init writes one)")->required();
  add_experiment(app, options.experiment);
  app.footer(
      "Examples:\n"
      "  kvet validate plan.toml --dry-run\n"
      "  kvet validate plan.toml -o result --max-time 30m --accept SURVIVES,PARTIAL\n"
      "Exit status: 0 SURVIVES, 10 PARTIAL, 11 VANISHES, 12 REGRESSES, 13 INVALID, 14 INCONCLUSIVE,\n"
      "             15 REFUSED");
}

void define(CLI::App& app, DoctorOptions& options) {
  add_json(app, options.json);
  app.add_flag(
      "--calibrate", options.calibrate,
      "Measure first how much each GPU's DRAM gives (some seconds on an idle GPU), and keep it for recordings");
  app.add_option("--libcuda", options.libcuda, "The libcuda.so whose functions to look at")->type_name("FILE");
  app.add_option("--libnccl", options.libnccl, "The libnccl.so whose functions to look at")->type_name("FILE");
}

// A fresh subcommand whose options land in a struct that lives in `options`.
template <class Specific>
void define_as(CLI::App& app, Options& options) {
  define(app, options.emplace<Specific>());
}

struct Definition {
  std::string_view name, usage, summary;
  void (*define)(CLI::App&, Options&);
};
constexpr Definition definitions[] = {
    {"doctor", "[OPTIONS]", "Say what this machine allows, which tier that gives, and what to do about the rest",
     define_as<DoctorOptions>},
    {"try", "--base CMD --cand CMD [OPTIONS]", "A verdict without a plan: run two commands in turn, record, decide",
     define_as<TryOptions>},
    {"init", "[OPTIONS]", "Write a plan to fill in", define_as<InitOptions>},
    {"validate", "PLAN [OPTIONS]", "The main job: run both arms of a plan in turn, record, decide, report",
     define_as<ValidateOptions>},
    {"record", "[OPTIONS] -- COMMAND [ARGUMENT...]   or   kvet record [OPTIONS] --pid PID",
     "Record one capture of a process and its children", define_as<RecordOptions>},
    {"kernels", "FILE... [OPTIONS]", "List the kernels that ran, and those that only one of the captures ran",
     define_as<KernelsOptions>},
    {"report", "FILE... [OPTIONS]", "Answer the four questions for every kernel of a capture",
     define_as<ReportOptions>},
    {"import", "FILE... -o CAPTURE [OPTIONS]", "Make a capture of other tools' files", define_as<ImportOptions>},
    {"merge", "FILE FILE... -o CAPTURE [OPTIONS]", "Make one capture of those of several hosts",
     define_as<MergeOptions>},
    {"export", "FILE --format FORMAT [OPTIONS]", "Hand a capture to other tools", define_as<ExportOptions>},
    {"sql", "FILE [QUERY] [OPTIONS]", "Ask a capture a question of your own, in SQL; only reads",
     define_as<SqlOptions>},
    {"compare", "BASE... --against CAND... [OPTIONS]", "Decide on a claim from captures of both arms",
     define_as<CompareOptions>},
};

constexpr size_t page_width = 100;  // columns

// One entry of a list: the left part, then the text from `column` on, broken between words.
std::string entry(std::string_view left, std::string_view text, size_t column) {
  std::string out = "  " + std::string(left);
  if (out.size() + 2 > column) {
    out += '\n' + std::string(column, ' ');
  } else {
    out.append(column - out.size(), ' ');
  }
  size_t at = column;
  for (std::string_view word : split(text, ' ')) {
    if (at > column && at + 1 + word.size() > page_width) {
      out += '\n' + std::string(column, ' ');
      at = column;
    } else if (at > column) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out + '\n';
}

std::string command_help(const Definition& definition, const CLI::App& app) {
  std::string out = "Usage: kvet " + std::string(definition.name) + ' ' + std::string(definition.usage) + "\n\n" +
                    std::string(definition.summary) + ".\n\nOptions:\n";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || !option->nonpositional()) {
      continue;
    }
    std::string left = option->get_name(false, true);
    if (const size_t comma = left.find(','); comma != std::string::npos) {
      left.insert(comma + 1, " ");
    }
    if (!option->get_type_name().empty()) {
      left += ' ' + option->get_type_name();
    }
    std::string text = option->get_description();
    if (const std::string value = option->get_default_str(); !value.empty()) {
      text += " [" + value + "]";
    }
    out += entry(left, text, 30);
  }
  return app.get_footer().empty() ? out : out + '\n' + app.get_footer() + '\n';
}

bool internal(std::string_view name) { return name.starts_with("__"); }

std::string general_help(std::span<const Command> commands) {
  std::string out =
      "kvet vets a CUDA kernel under the load it will really run in.\n\nUsage: kvet COMMAND [OPTIONS]\n\nCommands:\n";
  for (const Definition& definition : definitions) {
    if (std::any_of(commands.begin(), commands.end(), [&](const Command& c) { return c.name == definition.name; })) {
      out += entry(definition.name, definition.summary, 12);
    }
  }
  return out +
         "\n`kvet COMMAND --help` says more about each; `kvet --version` names the version.\n"
         "Exit statuses are listed in docs/exit-status.md.\n";
}

// What `record` was given must be one target.
Result<void> finish(RecordOptions& options, std::vector<std::string> after_dashes) {
  options.command = std::move(after_dashes);
  if (options.pid && !options.command.empty()) {
    return fail(ErrorKind::usage, "both --pid and a command were given", "record", "Give one of them");
  }
  if (!options.pid && options.command.empty()) {
    return fail(ErrorKind::usage, "nothing to record", "record",
                "Put a command after --, as in `kvet record -- ./server`, or give --pid");
  }
  if (options.output.empty()) {
    return fail(ErrorKind::usage, "is empty", "-o", "Give the capture a name");
  }
  if (options.tier == TierChoice::full && options.counters == CountersChoice::off) {
    return fail(ErrorKind::usage, "the full tier is the one with counters", "--tier full --counters off",
                "--tier device does without them");
  }
  return {};
}

// CLI11 ends some of its messages with a newline, and joins details with one.
std::string one_line(std::string_view text) {
  std::string out;
  for (std::string_view line : split(text, '\n')) {
    if (const std::string_view part = trimmed(line); !part.empty()) {
      out += (out.empty() ? "" : "; ") + std::string(part);
    }
  }
  return out;
}

Error unknown_command(const std::string& name, std::span<const Command> commands) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) {
    if (!internal(command.name)) {
      names.push_back(command.name);
    }
  }
  const std::string_view meant = nearest(name, names);
  return {ErrorKind::usage, "there is no such command", name,
          meant.empty() ? "`kvet --help` lists them" : "Did you mean `kvet " + std::string(meant) + "`?"};
}

}  // namespace

Result<std::variant<Invocation, Answer>> parse_arguments(std::span<const char* const> arguments,
                                                         std::span<const Command> commands) {
  std::vector<std::string> words;
  if (!arguments.empty()) {
    words.assign(arguments.begin() + 1, arguments.end());
  }
  if (words.empty()) {
    return fail(ErrorKind::usage, "no command was given", {}, "`kvet --help` lists them");
  }
  if (words[0] == "help" && words.size() > 1) {  // `kvet help record` is `kvet record --help`
    words = {words[1], "--help"};
  }
  const std::string name = words[0];
  words.erase(words.begin());
  if (name == "--help" || name == "-h" || name == "help") {
    return Answer{general_help(commands)};
  }
  if (name == "--version") {
    return Answer{std::string("kvet ") + version() + '\n'};
  }
  const auto command = std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  if (command == commands.end()) {
    return std::unexpected(unknown_command(name, commands));
  }
  Invocation invocation{&*command, {}};
  if (internal(name)) {
    invocation.options = InternalOptions{std::move(words)};
    return invocation;
  }

  // What follows "--" belongs to the command that is to be recorded, dashes and all.
  std::vector<std::string> after_dashes;
  if (name == "record") {
    const auto dashes = std::find(words.begin(), words.end(), "--");
    if (dashes != words.end()) {
      after_dashes.assign(dashes + 1, words.end());
      words.erase(dashes, words.end());
    }
  }

  const auto definition =
      std::find_if(std::begin(definitions), std::end(definitions), [&](const Definition& d) { return d.name == name; });
  if (definition == std::end(definitions)) {
    return fail(ErrorKind::internal, "the command has no options in arguments.cpp", name);
  }
  CLI::App app;
  definition->define(app, invocation.options);
  app.set_help_flag("-h,--help", "Print this help");
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes words from the back
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return Answer{command_help(*definition, app)};
  } catch (const CLI::ParseError& problem) {
    return fail(ErrorKind::usage, one_line(problem.what()), name, "See `kvet " + name + " --help`");
  }
  if (auto* record = std::get_if<RecordOptions>(&invocation.options)) {
    if (auto finished = finish(*record, std::move(after_dashes)); !finished) {
      return std::unexpected(finished.error());
    }
  }
  return invocation;
}

}  // namespace kvet::cli
