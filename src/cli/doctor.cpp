// kvet doctor: what this machine allows. Looks at the machine, tries, and hands what it found to a renderer.
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "base/file_descriptor.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/doctor_calibrate.h"
#include "cli/doctor_report.h"
#include "probes/launch/functions.h"
#include "probes/nccl/functions.h"
#include "record/elf_file.h"
#include "record/uprobe_link.h"

namespace kvet::cli {

namespace {

// A library that was named must be readable; one that was found may be anything.
Result<ProbedLibrary> look_at(const std::string& path, std::span<const probes::ProbedFunction> functions) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) {
    return fail(ErrorKind::unavailable, "cannot be opened", path, "Give the path of a library");
  }
  const auto library = record::ElfFile::open(file.get());
  if (!library) {
    return fail(ErrorKind::bad_input, library.error().what, path, "Give the path of a library");
  }
  ProbedLibrary looked{path, {}, {}};
  for (const probes::ProbedFunction& function : functions) {
    const auto offset = library->function_offset(function.symbol);
    capability::FirstBytes bytes{};
    // A short read at the end of the file leaves zeros.
    if (offset && ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(*offset)) > 0) {
      looked.functions.push_back({function.symbol, capability::classify(bytes), bytes});
    } else {
      looked.missing.emplace_back(function.symbol);
    }
  }
  return looked;
}

// The library that was named, else the first that was found. False after an error message.
bool add_library(const std::string& named, const std::vector<capability::FoundLibrary>& found,
                 std::span<const probes::ProbedFunction> functions, DoctorFindings& findings, int& status) {
  if (named.empty() && found.empty()) {
    return true;
  }
  auto looked = look_at(named.empty() ? found.front().path : named, functions);
  if (looked) {
    findings.libraries.push_back(std::move(*looked));
  } else if (!named.empty()) {
    status = report_error(looked.error());
    return false;
  }
  return true;
}

}  // namespace

int run_doctor(const DoctorOptions& options) {
  DoctorFindings findings;
  utsname host{};
  ::uname(&host);
  findings.kernel = std::string(host.sysname) + ' ' + host.release + ' ' + host.machine;

  const capability::BpfTrial trial = capability::try_bpf();
  findings.assessment = capability::assess(capability::System::current(), trial);
  if (trial.uprobe == 0) {
    const bool multi = record::best_uprobe_way() == probes::UprobeWay::multi;
    findings.assessment.requirements.push_back(
        {"host.uprobe_multi", capability::Part::host, "uprobe_multi link",
         multi ? capability::State::present : capability::State::absent, false,
         multi ? "works" : "this kernel has none",
         "probes come and go together; one by one, letting go of them takes seconds", multi ? "" : "Use Linux 6.10"});
  }
  int status = 0;
  if (!add_library(options.libcuda, findings.assessment.libcuda, probes::launch_functions(false), findings, status) ||
      !add_library(options.libnccl, findings.assessment.libnccl, probes::nccl_functions(), findings, status)) {
    return status;
  }
  if (options.calibrate) {
    if (status = calibrate_gpus(findings.assessment.driver.version); status != 0) {
      return status;
    }
  }
  findings.calibrations =
      capability::find_calibrations(capability::calibration_folders(), findings.assessment.driver.version);
  findings.now_s = ::time(nullptr);
  findings.cost = capability::measure_hit_cost();

  std::fputs(options.json ? doctor_json(findings).c_str() : doctor_text(findings).c_str(), stdout);
  if (options.calibrate) {
    return 0;  // what was asked for was done
  }
  // Something that is needed is not there: said by the status too, so that a script can ask.
  return findings.assessment.command == capability::Tier::none ? Error{ErrorKind::unavailable, {}, {}, {}}.exit_status()
                                                               : 0;
}

}  // namespace kvet::cli
