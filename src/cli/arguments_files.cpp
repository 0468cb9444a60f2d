#include "cli/arguments_files.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "cli/arguments_common.h"

namespace kvet::cli {

void define(CLI::App& app, ImportOptions& options) {
  app.add_option("FILE", options.files,
                 "Nsight Systems SQLite exports or PyTorch profiler traces (JSON, or JSON in gzip)")
      ->required();
  add_output(app, options.output, "The capture to write")->type_name("CAPTURE")->required();
  app.footer(
      "Examples:\n"
      "  kvet import profile.sqlite -o profile.kvet\n"
      "  kvet import rank0.json.gz rank1.json.gz -o run.kvet");
}

void define(CLI::App& app, MergeOptions& options) {
  app.add_option("FILE", options.files, "Captures of the ranks' hosts; their clock is the first one's")
      ->required()
      ->expected(2, 4096);
  add_output(app, options.output, "The capture to write")->type_name("CAPTURE")->required();
  app.add_flag(
      "--wall-clock", options.wall_clock,
      "Where no collective links a capture to the others, align it by the hosts' time of day: good to milliseconds");
  app.footer(
      "Clocks are aligned by the ends of collectives that both hosts took part in.\n"
      "Example:\n"
      "  kvet merge node0.kvet node1.kvet -o job.kvet && kvet report job.kvet");
}

void define(CLI::App& app, ExportOptions& options) {
  app.add_option("FILE", options.file, "The capture, or another tool's file that kvet can import")->required();
  add_choice<ExportFormat>(app, "--format", options.format,
                           {{"perfetto", ExportFormat::perfetto},
                            {"chrome", ExportFormat::chrome},
                            {"otlp", ExportFormat::otlp},
                            {"prometheus", ExportFormat::prometheus},
                            {"csv", ExportFormat::csv}},
                           "perfetto|chrome|otlp|prometheus|csv", "What to write")
      ->required();
  add_output(app, options.output, "The file to write, or for csv the folder; without it: stdout")->type_name("FILE");
  add_kernels(app, options.kernels, "the five that ran longest. For otlp, prometheus and csv: whose findings");
  app.add_option("--endpoint", options.endpoint,
                 "For otlp: where a receiver listens for HTTP. Without it and -o: OTEL_EXPORTER_OTLP_ENDPOINT")
      ->type_name("URL");
  app.add_option_function<std::string>(
         "--signals",
         [&options](const std::string& text) {
           const std::vector<std::string_view> parts = split(text, ',');
           const auto has = [&](std::string_view signal) { return std::ranges::find(parts, signal) != parts.end(); };
           options.metrics = has("metrics");
           options.traces = has("traces");
           if (parts.size() != static_cast<size_t>(options.metrics) + static_cast<size_t>(options.traces)) {
             refuse(
                 {ErrorKind::usage, "'" + text + "' is none of metrics, traces and metrics,traces", "--signals", ""});
           }
         },
         "For otlp: metrics, traces or both, which is the default")
      ->type_name("metrics,traces");
  app.footer(
      "Examples:\n"
      "  kvet export run.kvet --format perfetto -o run.perfetto-trace\n"
      "  kvet export run.kvet --format csv -o tables\n"
      "  kvet export run.kvet --format prometheus -o kvet.prom\n"
      "  kvet export run.kvet --format otlp --endpoint http://127.0.0.1:4318");
}

void define(CLI::App& app, SqlOptions& options) {
  app.add_option("FILE", options.file, "The capture");
  app.add_option("QUERY", options.query, "One statement; without it, and without the options below: standard input");
  app.add_option("-f,--file", options.query_file, "Read the query from this file")->type_name("SQL");
  app.add_option("--query", options.documented, "Run one of the documented queries")->type_name("NAME");
  app.add_option_function<std::vector<std::string>>(
         "--param",
         [&](const std::vector<std::string>& pairs) {
           options.parameters.clear();
           for (const std::string& pair : pairs) {
             const size_t equals = pair.find('=');
             if (equals == 0 || equals == std::string::npos) {
               refuse({ErrorKind::usage, "'" + pair + "' is not NAME=VALUE", "--param", ""});
             }
             options.parameters[pair.substr(0, equals)] = pair.substr(equals + 1);
           }
         },
         "What :NAME in the query stands for; may be given several times")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_choice<SqlFormat>(
      app, "--format", options.format,
      {{"table", SqlFormat::table}, {"csv", SqlFormat::csv}, {"json", SqlFormat::json}, {"jsonl", SqlFormat::jsonl}},
      "table|csv|json|jsonl", "How to write the rows. Default: table");
  add_duration(
      app, "--timeout", [&](int64_t value) { options.timeout_ns = value; },
      "End a query that computes for longer than this. Default: 60s");
  app.add_flag("--list", options.list, "List the documented queries instead");
  app.add_flag("--views", options.views, "List the views, with their columns and units, instead");
  app.footer(
      "Examples:\n"
      "  kvet sql run.kvet \"SELECT name, count(*) FROM executions GROUP BY name\" --format csv\n"
      "  kvet sql run.kvet --query occupancy --param kernel=%rms_norm%\n"
      "  kvet sql --list\n"
      "docs/sql.md says more.");
}

}  // namespace kvet::cli
