// What each subcommand was asked to do: plain values, filled by arguments.cpp and read by the subcommand's own file.
// Defaults here are the defaults of the command line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kvet::cli {

enum class CountersChoice : uint8_t { pm, gpm, off };
enum class TierChoice : uint8_t { automatic, host, unprivileged, device, full };

// The words of a verdict, as --accept takes them.
inline constexpr const char* verdict_words[] = {"SURVIVES", "PARTIAL",      "VANISHES", "REGRESSES",
                                                "INVALID",  "INCONCLUSIVE", "REFUSED"};

// kvet record: exactly one of `pid` and `command` is set.
struct RecordOptions {
  std::string output = "capture.kvet";
  std::optional<int32_t> pid;
  std::vector<std::string> command;  // as after --
  std::optional<int64_t> duration_ns;
  int64_t delay_ns = 0;
  CountersChoice counters = CountersChoice::pm;
  std::optional<int64_t> interval_ns;  // of the counters; empty: what the mode takes by default
  bool detail = false;
  std::optional<int64_t> burst_ns, burst_every_ns;  // of finer samples: how long (0: none), how far apart on average
  std::optional<bool> pulses;  // short kernels of kvet's own before and after; empty: while no target runs
  TierChoice tier = TierChoice::automatic;
  bool discard = false;  // hidden: the library throws its records away, to measure its own cost
  std::vector<std::pair<std::string, std::string>> meta;
};

// kvet report
enum class ReportFormat : uint8_t { text, json, markdown };
struct ReportOptions {
  std::vector<std::string> files;
  std::vector<std::string> kernels;  // patterns; empty: all kernels, the longest-running first
  ReportFormat format = ReportFormat::text;
  // Since the beginning of the recording (meta key record.start_ns); empty: what the capture itself says.
  std::optional<std::pair<int64_t, int64_t>> window_ns;
  std::string isolated;  // Nsight Compute's CSV; empty: none
};

// kvet kernels
struct KernelsOptions {
  std::vector<std::string> files;
  bool json = false;
};

// How compare, try and validate show their verdict.
enum class VerdictFormat : uint8_t { text, json, markdown, junit, sarif };

// kvet compare
struct CompareOptions {
  std::vector<std::string> baseline, candidate;
  std::optional<double> claim;
  std::string claim_file;            // FILE#ID in place of a number; empty: none
  std::vector<std::string> kernels;  // patterns; empty: what only one arm ran
  std::vector<std::string> accept;   // of verdict_words
  std::string isolated;  // capture of the candidate's microbenchmark, or Nsight Compute's CSV; empty: none
  std::string output;  // folder for the verdict in all formats; empty: none
  VerdictFormat format = VerdictFormat::text;
};

// kvet import
struct ImportOptions {
  std::vector<std::string> files;
  std::string output;
};

// kvet merge
struct MergeOptions {
  std::vector<std::string> files;
  std::string output;
  bool wall_clock = false;
};

// kvet export
enum class ExportFormat : uint8_t { perfetto, chrome, otlp, prometheus, csv };
struct ExportOptions {
  std::string file;
  ExportFormat format = ExportFormat::perfetto;
  std::string output;  // empty: stdout
  std::vector<std::string> kernels;  // patterns: whose findings; empty: the longest-running
  std::string endpoint;  // of OTLP; empty: OTEL_EXPORTER_OTLP_ENDPOINT, or where that is empty, too, the output
  bool metrics = true, traces = true;  // the signals of OTLP
};

// kvet sql: the query is `query`, else in `query_file`, else the documented one, else what comes on stdin.
enum class SqlFormat : uint8_t { table, csv, json, jsonl };
struct SqlOptions {
  std::string file;  // may be empty where only lists are asked for
  std::string query, query_file, documented;
  std::map<std::string, std::string> parameters;
  SqlFormat format = SqlFormat::table;
  int64_t timeout_ns = 60'000'000'000;
  bool list = false, views = false;
};

// What `try` and `validate` have in common: how the experiment is run.
struct ExperimentOptions {
  std::string output;  // result folder; empty: a new one, named after the time
  bool dry_run = false;
  bool resume = false;
  std::vector<std::string> accept;
  std::optional<int64_t> max_time_ns;
  std::optional<uint32_t> quads;  // empty: looks at 4, 8 and 16
  bool no_aa = false;  // skip the A/A quads: the word is then at most "likely"
  VerdictFormat format = VerdictFormat::text;
};

// kvet try
struct TryOptions {
  std::string baseline, candidate;  // command lines for sh -c
  std::optional<double> claim;
  std::string claim_file;  // FILE#ID in place of a number; empty: none
  std::vector<std::string> kernels;
  std::string metric;  // regular expression with one group, searched in what the commands print; empty: none
  bool lower_is_better = false;
  std::string check;  // command that must exit 0 with the candidate; empty: outputs unchecked
  ExperimentOptions experiment;
};

// kvet init
struct InitOptions {
  std::string output = "plan.toml";
};

// kvet validate
struct ValidateOptions {
  std::string plan;
  ExperimentOptions experiment;
};

// kvet doctor
struct DoctorOptions {
  bool json = false;
  bool calibrate = false;  // measure the DRAM of each GPU first
  std::string libcuda;  // empty: found by the search that the dynamic linker would make
  std::string libnccl;
};

// Subcommands that kvet starts itself: their names begin with two underscores, nothing about them is in the help, and
// their arguments are passed on as they are.
struct InternalOptions {
  std::vector<std::string> arguments;
};

using Options =
    std::variant<RecordOptions, ReportOptions, KernelsOptions, CompareOptions, TryOptions, InitOptions, ValidateOptions,
                 DoctorOptions, ImportOptions, MergeOptions, ExportOptions, SqlOptions, InternalOptions>;

}  // namespace kvet::cli
