// The subcommands. Each takes its options and returns the exit status that docs/exit-status.md gives it; each lives in a
// file of its own (record.cpp, report.cpp, …) and appears in the table of main.cpp.
#pragma once

#include <string_view>

#include "cli/options.h"

namespace kvet::cli {

int run_record(const RecordOptions& options);
int run_report(const ReportOptions& options);
int run_kernels(const KernelsOptions& options);
int run_compare(const CompareOptions& options);
int run_try(const TryOptions& options);
int run_init(const InitOptions& options);
int run_validate(const ValidateOptions& options);
int run_doctor(const DoctorOptions& options);
int run_import(const ImportOptions& options);
int run_merge(const MergeOptions& options);
int run_export(const ExportOptions& options);
int run_sql(const SqlOptions& options);
int run_sampler(const InternalOptions& options);

// One entry of the table: a name and what to do with the options that were parsed under it.
struct Command {
  std::string_view name;
  int (*run)(const Options&);
};
template <class Specific, int (*function)(const Specific&)>
constexpr Command command(std::string_view name) {
  return {name, [](const Options& options) { return function(std::get<Specific>(options)); }};
}

}  // namespace kvet::cli
