#include "cli/arguments_files.h"

#include "cli/arguments_common.h"

namespace kvet::cli {

void define(CLI::App& app, ImportOptions& options) {
  app.add_option("FILE", options.files,
                 "Nsight Systems SQLite exports or PyTorch profiler traces (JSON, or JSON in gzip)")
      ->required();
  app.add_option("-o,--output", options.output, "The capture to write")->type_name("CAPTURE")->required();
  app.footer(
      "Examples:\n"
      "  kvet import profile.sqlite -o profile.kvet\n"
      "  kvet import rank0.json.gz rank1.json.gz -o run.kvet");
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
  app.add_option("-o,--output", options.output, "The file to write, or for csv the folder; without it: stdout")
      ->type_name("FILE");
  add_kernels(app, options.kernels, "the five that ran longest. For otlp, prometheus and csv: whose findings");
  app.footer(
      "Examples:\n"
      "  kvet export run.kvet --format perfetto -o run.perfetto-trace\n"
      "  kvet export run.kvet --format csv -o tables");
}

}  // namespace kvet::cli
