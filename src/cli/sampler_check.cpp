#include "cli/sampler_check.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>

#include "base/terminal.h"
#include "base/text.h"
#include "clocks/aligning_sink.h"
#include "probes/counters/sampler_client.h"

extern char** environ;

namespace kvet::cli {
namespace {

using std::chrono::seconds;

// Writes what the sampler sends as lines of text.
class CsvSink : public EventSink {
 public:
  static Result<std::unique_ptr<CsvSink>> create(const std::string& folder) {
    auto sink = std::make_unique<CsvSink>();
    for (auto& [file, name] : {std::pair{&sink->samples_, "samples.csv"}, std::pair{&sink->readings_, "readings.csv"},
                               std::pair{&sink->mappings_, "mappings.csv"}, std::pair{&sink->facts_, "facts.txt"}}) {
      file->open(folder + "/" + name);
      if (!*file) {
        return fail(ErrorKind::unavailable, "cannot be written", folder + "/" + name, "Give a folder that exists");
      }
    }
    sink->samples_
        << "device,start,end,cycles_elapsed,sm_active_cycles,warp_cycles,warps_max,warps_min,register_cycles,"
           "shared_byte_cycles,warps_launched,blocks_completed,dram_read_bytes,dram_write_bytes,instructions,"
           "tensor_cycles,l2_sectors,context_switch_cycles\n";
    sink->readings_ << "device,time,power_milliwatts,sm_clock_mhz,memory_clock_mhz,temperature,throttle,gpm_occupancy,"
                       "gpm_dram,gpm_sm_active\n";
    sink->mappings_ << "device,from,offset,drift_ns_per_s,residual\n";
    return sink;
  }

  StringId intern(std::string_view text) override {
    strings_.emplace_back(text);
    return StringId{static_cast<uint32_t>(strings_.size() - 1)};
  }
  void on(const Process&) override {}
  void on(const Device& device) override {
    facts_ << fmt::format("device {}: {}, {} SMs, {} warps per SM, {:.1f} GB/s\n", device.id.value,
                          printable(strings_[device.name.value]), device.multiprocessors,
                          device.max_warps_per_multiprocessor,
                          static_cast<double>(device.memory_bandwidth_bytes_per_s) / 1e9);
  }
  void on(const KernelShape&) override {}
  void on(const Context&) override {}
  void on(const ApiCall&) override {}
  void on(const Execution&) override {}
  void on(const Transfer&) override {}
  void on(const Range&) override {}
  void on(const OffCpu&) override {}
  void on(const CollectiveCall&) override {}
  void on(const Communicator&) override {}
  void on(const Sample& s) override {
    samples_ << s.device.value << ',' << s.start_ns << ',' << s.end_ns;
    for (const auto& value :
         {s.cycles_elapsed, s.sm_active_cycles, s.warp_cycles, s.warps_max, s.warps_min, s.register_cycles,
          s.shared_byte_cycles, s.warps_launched, s.blocks_completed, s.dram_read_bytes, s.dram_write_bytes,
          s.instructions, s.tensor_cycles, s.l2_sectors, s.context_switch_cycles}) {
      samples_ << ',';
      if (value) {
        samples_ << fmt::format("{:.17g}", *value);
      }
    }
    samples_ << '\n';
  }
  void on(const DeviceReading& r) override {
    const auto put = [&](const auto& value) {
      readings_ << ',';
      if (value) {
        readings_ << *value;
      }
    };
    readings_ << r.device.value << ',' << r.time_ns;
    put(r.power_milliwatts);
    put(r.sm_clock_mhz);
    put(r.memory_clock_mhz);
    put(r.temperature_celsius);
    put(r.throttle_reasons);
    put(r.gpm_sm_occupancy_percent);
    put(r.gpm_dram_percent);
    put(r.gpm_sm_active_percent);
    readings_ << '\n';
  }
  void on(const Loss& loss) override { lost_[static_cast<int>(loss.kind)] += loss.count; }
  void on(const ClockMapping& m) override {
    mappings_ << fmt::format("{},{},{},{:.6f},{}\n", m.device ? m.device->value : 0, m.from_ns, m.offset_ns,
                             m.drift_ns_per_s, m.residual_ns ? std::to_string(*m.residual_ns) : "");
  }
  void on(const Meta& meta) override { facts_ << meta.key << ": " << printable(meta.value) << '\n'; }

  bool finish() {
    for (const auto& [kind, name] :
         {std::pair{LossKind::counter_gap, "gap"}, std::pair{LossKind::counter_overflow, "overflow"},
          std::pair{LossKind::ring_full, "pipe"}, std::pair{LossKind::bad_time, "bad_time"},
          std::pair{LossKind::sampler_died, "died"}}) {
      facts_ << "lost." << name << ": " << lost_[static_cast<int>(kind)] << '\n';
    }
    bool good = true;
    for (auto* file : {&samples_, &readings_, &mappings_, &facts_}) {
      file->close();
      good = good && !file->fail();
    }
    return good;
  }

 private:
  std::ofstream samples_, readings_, mappings_, facts_;
  std::vector<std::string> strings_{""};
  std::map<int, uint64_t> lost_;
};

struct Request {
  std::string folder;
  probes::SamplerOptions sampler;
  std::vector<std::string> command;
};

Result<Request> parse(const std::vector<std::string>& words) {
  Request request;
  const auto wrong = [](const std::string& what) { return fail(ErrorKind::usage, what, "__sampler --csv"); };
  for (size_t index = 0; index < words.size(); index += 2) {
    if (words[index] == "--") {
      request.command.assign(words.begin() + static_cast<ptrdiff_t>(index) + 1, words.end());
      break;
    }
    if (index + 1 == words.size()) {
      return wrong("an option without a value: " + words[index]);
    }
    const std::string& value = words[index + 1];
    if (words[index] == "--csv") {
      request.folder = value;
    } else if (words[index] == "--interval-ns") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), request.sampler.interval_ns);
      if (error != std::errc() || end != value.data() + value.size()) {
        return wrong("an interval is a number of ns, not " + value);
      }
    } else if (words[index] == "--gpm-cross-check") {
      request.sampler.gpm_cross_check = value != "no";
    } else {
      return wrong("unknown option " + words[index]);
    }
  }
  if (request.folder.empty() || request.command.empty()) {
    return wrong("a folder and, after --, a command are needed");
  }
  return request;
}

// Runs the command beside the sampler. Its exit status as a shell gives it.
Result<int> run_command(const std::vector<std::string>& command, probes::SamplerClient& sampler, EventSink& sink) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  pid_t process = -1;
  if (int error = ::posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ); error != 0) {
    return fail(ErrorKind::unavailable, "the command does not start", command[0]);
  }
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    sampler.poll(sink);
    ::usleep(2'000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// start_ns,end_ns,blocks,threads,registers,shared_bytes,device_index; the first line names them.
Result<size_t> read_executions(const std::string& path, EventSink& sink) {
  std::ifstream file(path);
  if (!file) {
    return fail(ErrorKind::bad_input, "the command wrote no executions", path);
  }
  std::map<std::array<int64_t, 4>, ShapeId> shapes;
  std::string line;
  std::getline(file, line);
  size_t count = 0;
  while (std::getline(file, line)) {
    std::array<int64_t, 7> values{};
    size_t field = 0;
    for (std::string_view text : split(line, ',')) {
      if (field < values.size()) {
        std::from_chars(text.data(), text.data() + text.size(), values[field++]);
      }
    }
    if (field != values.size()) {
      return fail(ErrorKind::bad_input, fmt::format("line {} has {} fields, not {}", count + 2, field, values.size()),
                  path);
    }
    const std::array<int64_t, 4> resources{values[2], values[3], values[4], values[5]};
    auto [found, added] = shapes.try_emplace(resources, ShapeId{static_cast<uint32_t>(shapes.size())});
    if (added) {
      KernelShape shape;
      shape.id = found->second;
      shape.grid = {static_cast<uint32_t>(values[2]), 1, 1};
      shape.block = {static_cast<uint32_t>(values[3]), 1, 1};
      shape.registers_per_thread = static_cast<uint32_t>(values[4]);
      shape.static_shared_bytes = static_cast<uint32_t>(values[5]);
      sink.on(shape);
    }
    Execution execution;
    execution.start_ns = values[0];
    execution.end_ns = values[1];
    execution.shape = found->second;
    execution.device = DeviceId{static_cast<uint32_t>(values[6])};
    sink.on(execution);
    ++count;
  }
  return count;
}

Result<int> check(const Request& request) {
  auto csv = CsvSink::create(request.folder);
  if (!csv) {
    return std::unexpected(csv.error());
  }
  clocks::AligningSink sink(**csv);
  probes::DeviceDirectory directory;
  auto sampler = probes::SamplerClient::start(request.sampler, directory);
  if (!sampler) {
    return std::unexpected(sampler.error());
  }
  if (!(*sampler)->wait_ready(sink, seconds(60))) {
    return fail(ErrorKind::unavailable, (*sampler)->status(), "counters");
  }
  auto status = run_command(request.command, **sampler, sink);
  (*sampler)->stop(sink, seconds(30));
  if (!status) {
    return status;
  }
  if (auto executions = read_executions(request.folder + "/executions.csv", sink); !executions) {
    return std::unexpected(executions.error());
  }
  sink.align();
  if (!(*csv)->finish()) {
    return fail(ErrorKind::unavailable, "the files could not be written in full", request.folder, "Free space");
  }
  return *status;
}

}  // namespace

int check_sampler(const InternalOptions& options) {
  auto request = parse(options.arguments);
  if (!request) {
    return report_error(request.error());
  }
  auto status = check(*request);
  return status ? *status : report_error(status.error());
}

}  // namespace kvet::cli
