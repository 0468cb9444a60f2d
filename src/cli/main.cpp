// kvet: a table of subcommands.
#include <cstdio>
#include <exception>
#include <span>

#include "base/terminal.h"
#include "cli/arguments.h"
#include "cli/commands.h"

namespace {

using namespace kvet::cli;

// In the order of the help. A new subcommand: its struct in options.h, its options in arguments.cpp, its function in
// commands.h, and a line here.
constexpr Command commands[] = {
    command<RecordOptions, run_record>("record"),
    command<ValidateOptions, run_validate>("validate"),
    command<TryOptions, run_try>("try"),
    command<InitOptions, run_init>("init"),
    command<DoctorOptions, run_doctor>("doctor"),
    command<KernelsOptions, run_kernels>("kernels"),
    command<ReportOptions, run_report>("report"),
    command<CompareOptions, run_compare>("compare"),
    command<ImportOptions, run_import>("import"),
    command<MergeOptions, run_merge>("merge"),
    command<ExportOptions, run_export>("export"),
    command<SqlOptions, run_sql>("sql"),
    command<InternalOptions, run_sampler>("__sampler"),  // hidden: the recorder's child
};

int run(std::span<const char* const> arguments) {
  auto parsed = parse_arguments(arguments, commands);
  if (!parsed) {
    return kvet::report_error(parsed.error());
  }
  int status = 0;
  if (const auto* answer = std::get_if<Answer>(&*parsed)) {
    std::fputs(answer->text.c_str(), stdout);
  } else {
    const auto& invocation = std::get<Invocation>(*parsed);
    status = invocation.command->run(invocation.options);
  }
  // What was printed must have arrived: on a full disk neither success nor a verdict is one.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    kvet::print_error("the output could not be written. Free space, or give another place for it");
    return 70;
  }
  return status;
}

}  // namespace

int main(int count, char** values) {
  try {
    return run(std::span<const char* const>(values, static_cast<size_t>(count)));
  } catch (const std::exception& failure) {
    kvet::print_error(std::string("a fault of kvet's own: ") + failure.what() + ". Please report it with this line");
    return 70;
  }
}
