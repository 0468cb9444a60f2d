// Nsight Systems exports (`nsys export --type sqlite`), exporter schemas 3.0 to 3.25.
// https://docs.nvidia.com/nsight-systems/UserGuide/index.html, "SQLite Schema Reference".
#include <fmt/core.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "import/formats.h"
#include "import/nsys_import.h"

namespace kvet::importing {
namespace {

std::string command_of(const NsysFile& file) {
  std::string command = file.captured("PROCESS_0:COMMAND");
  for (int i = 0; i < 100; ++i) {
    const std::string argument = file.captured(fmt::format("PROCESS_0:ARGUMENT_{}", i));
    if (argument.empty()) {
      break;
    }
    command += " " + argument;
  }
  return command;
}

// Facts of the machine, by name.
Result<std::map<std::string, std::string>> environment_of(const NsysFile& file) {
  std::map<std::string, std::string> facts;
  if (!file.has("TARGET_INFO_SYSTEM_ENV", "name") || !file.has("TARGET_INFO_SYSTEM_ENV", "value")) {
    return facts;
  }
  auto rows = NsysRows::select(file, "TARGET_INFO_SYSTEM_ENV", {"name", "value"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (rows->next()) {
    const auto name = rows->text(0), value = rows->text(1);
    if (name && value && (*name == "Hostname" || *name == "NvDriverVersion")) {
      facts.emplace(*name, value->substr(0, 1000));
    }
  }
  if (auto ended = rows->end(); !ended) {
    return std::unexpected(ended.error());
  }
  return facts;
}

// When the session began, in Unix time. Events count from there: the diagnostic "Profiling has started." is at 0, and DIAGNOSTIC_EVENT's
// times of before are negative. Empty in exports of before that table, and where it holds no such time.
Result<std::optional<int64_t>> session_start(const NsysFile& file) {
  constexpr std::string_view table = "TARGET_INFO_SESSION_START_TIME", column = "utcEpochNs";
  if (!file.has(table, column)) {
    return std::nullopt;
  }
  auto rows = NsysRows::select(file, table, {column});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  const auto start = rows->next() ? rows->integer(0) : std::nullopt;
  if (auto ended = rows->end(); !ended) {
    return std::unexpected(ended.error());
  }
  return start && *start > 0 ? start : std::nullopt;
}

Result<void> say_where_from(NsysImport& import) {
  const auto environment = environment_of(import.file);
  if (!environment) {
    return std::unexpected(environment.error());
  }
  const auto say = [&](const char* key, std::string value) {
    if (!value.empty()) {
      import.sink.on(Meta{key, std::move(value)});
    }
  };
  const auto known = [&](const char* name) {
    const auto found = environment->find(name);
    return found == environment->end() ? std::string{} : found->second;
  };
  const std::string schema = import.file.exported("EXPORT_SCHEMA_VERSION");
  say("import.version", fmt::format("{}{}", import.file.exported("EXPORT_PRODUCT_VERSION"),
                                    schema.empty() ? "" : fmt::format(" (export schema {})", schema)));
  say("command", command_of(import.file));
  say("hostname", known("Hostname"));
  say("driver_version", known("NvDriverVersion"));
  const auto start = session_start(import.file);
  if (!start) {
    return std::unexpected(start.error());
  }
  if (*start && import.files.alone) {
    say("import.base_time_ns", std::to_string(**start));
    import.files.unix_time = true;
  }
  return {};
}

Result<void> import_one(const std::string& path, size_t index, NsysFiles& files) {
  const auto file = NsysFile::open(path);
  if (!file) {
    return std::unexpected(file.error());
  }
  auto strings = NsysStrings::read(*file, files.sink);
  if (!strings) {
    return std::unexpected(strings.error());
  }
  auto devices = NsysDevices::read(*file, files.sink, files.entities);
  if (!devices) {
    return std::unexpected(devices.error());
  }
  NsysImport import{.file = *file,
                    .index = index,
                    .files = files,
                    .sink = files.sink,
                    .entities = files.entities,
                    .strings = std::move(*strings),
                    .devices = std::move(*devices)};
  constexpr std::array steps = {say_where_from, find_times,       read_process_names, read_kernels,
                                read_transfers, read_contexts,    read_calls,         read_ranges,
                                read_scheduler, read_diagnostics, read_metrics,       say_what_is_missing};
  for (const auto step : steps) {
    if (auto done = step(import); !done) {
      return done;
    }
  }
  for (const auto& [kind, count] : import.lost) {
    files.sink.on(
        Loss{.source = Source::imported, .kind = kind, .process = {}, .count = count, .first_ns = {}, .last_ns = {}});
  }
  if (import.span && files.alone) {
    files.sink.on(Meta{"record.start_ns", std::to_string(import.span->start_ns)});
    files.sink.on(Meta{"record.end_ns", std::to_string(import.span->end_ns)});
  }
  return {};
}

}  // namespace

Result<void> import_nsys(const std::vector<std::string>& paths, EventSink& sink) {
  NsysFiles files{.sink = sink, .entities = Entities(sink), .alone = paths.size() == 1};
  sink.on(ClockMapping{.source = ClockSource::imported,
                       .device = {},
                       .residual_ns = {},
                       .residual_p95_ns = {},
                       .start_bias_ns = {},
                       .end_bias_ns = {}});
  sink.on(Meta{"tier", "imported"});
  sink.on(Meta{"import.format", "Nsight Systems SQLite export"});
  std::string names;
  for (size_t index = 0; index < paths.size(); ++index) {
    names += (names.empty() ? "" : "\n") + paths[index].substr(paths[index].rfind('/') + 1);
    if (auto done = import_one(paths[index], index, files); !done) {
      return done;
    }
  }
  sink.on(Meta{"import.files", names});
  sink.on(Meta{"import.clock", files.unix_time ? "the file's own: Unix time, less import.base_time_ns"
                               : files.alone   ? "the file's own"
                                               : "each file has a clock of its own, on which its first event is at 0"});
  return {};
}

}  // namespace kvet::importing
