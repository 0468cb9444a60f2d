// The only file that includes toml++ (a heavy header).
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include "validate/plan.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <toml++/toml.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/pattern.h"
#include "base/quantity.h"
#include "base/text.h"
#include "import/claims/claims.h"
#include "validate/metric.h"
#include "validate/ready.h"
#include "validate/result_files.h"
#include "verdict/words.h"

namespace kvet::validate {
namespace {

// Walks one table: every key is taken by one of the calls below, and what is left over at the end is unknown. The first
// error stays.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string section, const std::string& path, std::optional<Error>& error)
      : table_(table), section_(std::move(section)), path_(path), error_(error) {}

  const toml::node* take(std::string_view key) {
    known_.push_back(key);
    return table_.get(key);
  }
  void text(std::string_view key, std::optional<std::string>& into) {
    if (const toml::node* node = take(key)) {
      auto value = node->value_exact<std::string>();
      if (!value || value->empty()) {
        wrong(*node, key, "is not a text in quotes");
      } else if (value->find('\0') != std::string::npos) {
        wrong(*node, key, "holds a zero byte, which ends a text for every program");
      } else {
        into = *value;
      }
    }
  }
  void duration(std::string_view key, int64_t& into) {
    if (const toml::node* node = take(key)) {
      Result<int64_t> value = fail(ErrorKind::usage, "is not a time, such as \"30s\"");
      if (auto written = node->value_exact<std::string>()) {
        value = parse_duration_ns(*written, key);
      } else if (node->is_number()) {
        value = parse_duration_ns(fmt::format("{}", *node->value<double>()), key);
      }
      if (!value) {
        wrong(*node, key, value.error().what, value.error().advice);
      } else {
        into = *value;
      }
    }
  }
  template <class Integer>
  void count(std::string_view key, Integer& into, int64_t least, int64_t most) {
    if (const toml::node* node = take(key)) {
      auto value = node->value_exact<int64_t>();
      if (!value || *value < least || *value > most) {
        wrong(*node, key, fmt::format("is not a whole number from {} to {}", least, most));
      } else {
        into = static_cast<Integer>(*value);
      }
    }
  }
  // 0.05 or "5%".
  void share(std::string_view key, double& into) {
    if (const toml::node* node = take(key)) {
      double value = -1;
      if (node->is_number()) {
        value = *node->value<double>();
      } else if (auto written = node->value_exact<std::string>(); written && written->ends_with('%')) {
        char* end = nullptr;
        value = std::strtod(written->c_str(), &end) / 100;
        value = std::string_view(end) == "%" ? value : -1;
      }
      if (!(value >= 0 && value <= 1)) {
        wrong(*node, key, "is not a share between 0 and 1", "write 0.05 or \"5%\"");
      } else {
        into = value;
      }
    }
  }
  void choice(std::string_view key, std::optional<std::string>& into, const std::vector<std::string_view>& choices) {
    text(key, into);
    if (into && table_.get(key) != nullptr && std::find(choices.begin(), choices.end(), *into) == choices.end()) {
      std::string all;
      for (std::string_view one : choices) {
        all += (all.empty() ? "" : ", ") + std::string(one);
      }
      wrong(*table_.get(key), key, "is none of " + all);
    }
  }
  void environment(std::string_view key, Environment& into) {
    const toml::table* variables = subtable(key);
    if (variables == nullptr) {
      return;
    }
    for (const auto& [name, node] : *variables) {
      auto value = node.value_exact<std::string>();
      const std::string_view unusable("=\0", 2);
      if (!value) {
        wrong(node, fmt::format("{}.{}", key, name.str()), "is not a text in quotes");
      } else if (name.str().empty() || name.str().find_first_of(unusable) != std::string_view::npos ||
                 value->find('\0') != std::string::npos) {
        wrong(node, fmt::format("{}.{}", key, name.str()), "cannot be an environment variable");
      } else {
        into[std::string(name.str())] = *value;
      }
    }
  }
  const toml::table* subtable(std::string_view key) {
    const toml::node* node = take(key);
    if (node != nullptr && !node->is_table()) {
      wrong(*node, key, "is not a table");
      return nullptr;
    }
    return node == nullptr ? nullptr : node->as_table();
  }
  void metric(std::string_view key, MetricRule& into, bool& found) {
    const toml::table* table = subtable(key);
    if (table == nullptr) {
      return;
    }
    found = true;
    TableReader reader(*table, std::string(key), path_, error_);
    std::optional<std::string> regex, better;
    reader.text("regex", regex);
    reader.choice("better", better, {"higher", "lower"});
    reader.finish();
    if (!regex) {
      wrong(*table, key, "has no regex");
      return;
    }
    into.regex = *regex;
    into.higher_is_better = better ? *better == "higher" : into.higher_is_better;
    if (auto usable = check_metric(into); !usable) {
      wrong(*table, key, usable.error().what, usable.error().advice);
    }
  }
  void wrong(const toml::node& node, std::string_view key, const std::string& what, const std::string& advice = {}) {
    if (!error_) {
      error_ = Error{ErrorKind::usage, fmt::format("'{}' {}", printable(std::string(qualified(key))), what),
                     fmt::format("{}:{}", path_, node.source().begin.line), advice};
    }
  }
  // After everything was taken: what is left is a mistake.
  void finish() {
    for (const auto& [key, node] : table_) {
      if (std::find(known_.begin(), known_.end(), key.str()) != known_.end() || error_) {
        continue;
      }
      std::string_view near = nearest(key.str(), known_);
      std::string all;
      for (std::string_view one : known_) {
        all += (all.empty() ? "" : ", ") + std::string(one);
      }
      error_ = Error{ErrorKind::usage, fmt::format("unknown key '{}'", printable(std::string(qualified(key.str())))),
                     fmt::format("{}:{}", path_, key.source().begin.line),
                     near.empty() ? "known here: " + all : fmt::format("did you mean '{}'?", near)};
    }
  }

 private:
  [[nodiscard]] std::string qualified(std::string_view key) const {
    return section_.empty() ? std::string(key) : section_ + "." + std::string(key);
  }
  const toml::table& table_;
  std::string section_;
  const std::string& path_;
  std::optional<Error>& error_;
  std::vector<std::string_view> known_;
};

// A number, or FILE#ID: then `file` gets the text, to be read once the plan is known to be well-formed.
void read_claim(TableReader& reader, const std::string& folder, std::optional<double>& claim, std::string& file) {
  const toml::node* node = reader.take("claim");
  if (node == nullptr) {
    return;
  }
  if (node->is_number()) {
    claim = node->value<double>();
  } else if (auto written = node->value_exact<std::string>()) {
    if (auto value = parse_claim(*written)) {
      claim = *value;
    } else if (importing::names_a_claim_file(*written, folder)) {
      file = *written;
    } else {
      reader.wrong(*node, "claim", "= \"" + *written + "\": " + value.error().what, value.error().advice);
    }
  } else {
    reader.wrong(*node, "claim", "is not a number", "write baseline time ÷ candidate time, such as 1.38");
  }
}

void read_kernels(TableReader& reader, std::vector<std::string>& kernels) {
  const toml::node* node = reader.take("kernels");
  if (node == nullptr) {
    return;
  }
  if (auto one = node->value_exact<std::string>()) {
    kernels.push_back(*one);
  } else if (const toml::array* list = node->as_array()) {
    for (const toml::node& element : *list) {
      if (auto pattern = element.value_exact<std::string>()) {
        kernels.push_back(*pattern);
      } else {
        reader.wrong(element, "kernels", "holds something that is not a text in quotes");
      }
    }
  } else {
    reader.wrong(*node, "kernels", "is not a list of patterns");
  }
}

void read_workload(TableReader& reader, Plan& plan) {
  reader.text("server", plan.server);
  reader.text("ready", plan.ready);
  reader.text("load", plan.load);
  reader.text("run", plan.run);
  reader.text("warmup", plan.warmup);
  if (plan.warmup) {
    if (auto time = parse_duration_ns(*plan.warmup, "warmup")) {
      plan.warmup_ns = *time;
      plan.warmup.reset();
    }
  }
  bool has_metric = false;
  MetricRule metric;
  reader.metric("metric", metric, has_metric);
  if (has_metric) {
    plan.metric = metric;
  }
  reader.text("step", plan.step);
  reader.duration("timeout", plan.timeout_ns);
  reader.duration("ready_timeout", plan.ready_timeout_ns);
  reader.environment("env", plan.environment);
}

void read_arm(TableReader& reader, ArmPlan& arm) {
  reader.environment("env", arm.environment);
  reader.text("check", arm.check);
  reader.text("server", arm.server);
  reader.text("load", arm.load);
  reader.text("run", arm.run);
}

void read_isolated(TableReader& reader, IsolatedPlan& isolated, bool& has_metric) {
  reader.text("run", isolated.run);
  reader.text("baseline", isolated.baseline);
  reader.text("candidate", isolated.candidate);
  reader.metric("metric", isolated.metric, has_metric);
  reader.count("pairs", isolated.pairs, 1, 100);
}

class PlanReader {
 public:
  PlanReader(const toml::table& root, Plan& plan) : root_(root), plan_(plan) {}

  std::optional<Error> read() {
    TableReader top(root_, "", plan_.path, error_);
    read_claim(top, plan_.folder, plan_.claim, claim_file);
    read_kernels(top, plan_.kernels);
    uint32_t fixed = 0;
    top.count("quads", fixed, 1, 10000);
    plan_.quads = fixed > 0 ? std::optional(fixed) : std::nullopt;
    top.count("seed", plan_.seed, 0, INT64_MAX);
    section(top, "workload", [&](TableReader& reader) { read_workload(reader, plan_); });
    section(top, "baseline", [&](TableReader& reader) { read_arm(reader, plan_.baseline); });
    section(top, "candidate", [&](TableReader& reader) { read_arm(reader, plan_.candidate); });
    section(top, "isolated", [&](TableReader& reader) {
      bool has_metric = false;
      read_isolated(reader, plan_.isolated.emplace(), has_metric);
      if (!has_metric && !error_) {
        error_ = Error{ErrorKind::usage, "[isolated] has no metric", plan_.path,
                       "add metric = { regex = 'time: ([0-9.]+)' }"};
      }
    });
    section(top, "gpu", [&](TableReader& reader) {
      reader.text("device", plan_.device);
      reader.choice("counters", plan_.recording.counters, {"pm", "gpm", "off"});
      reader.text("interval", plan_.recording.interval);
      reader.choice("tier", plan_.recording.tier, {"auto", "unprivileged", "device", "full"});
    });
    section(top, "budget", [&](TableReader& reader) {
      reader.share("overhead", plan_.overhead_budget);
      int64_t time = 0;
      reader.duration("time", time);
      plan_.max_time_ns = time > 0 ? std::optional(time) : std::nullopt;
    });
    top.finish();
    return error_;
  }

  std::string claim_file;  // "": the claim is a number

 private:
  template <class Read>
  void section(TableReader& top, std::string_view name, Read read) {
    if (const toml::table* table = top.subtable(name)) {
      TableReader reader(*table, std::string(name), plan_.path, error_);
      read(reader);
      reader.finish();
    }
  }
  const toml::table& root_;
  Plan& plan_;
  std::optional<Error> error_;
};

std::string folder_of(const std::string& path) {
  char resolved[PATH_MAX];
  std::string full = ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
  size_t slash = full.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : full.substr(0, slash);
}

}  // namespace

Result<Plan> parse_plan(const std::string& text, const std::string& path, const std::string& folder) {
  Plan plan;
  plan.path = path;
  plan.folder = folder;
  plan.text = text;
  toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    return fail(ErrorKind::usage, "not TOML: " + printable(std::string(parsed.error().description())),
                fmt::format("{}:{}", path, parsed.error().source().begin.line));
  }
  PlanReader reader(parsed.table(), plan);
  if (auto error = reader.read()) {
    return std::unexpected(*error);
  }
  if (!reader.claim_file.empty()) {
    auto claim = importing::read_claim(reader.claim_file, folder);
    if (!claim) {
      return std::unexpected(claim.error());
    }
    plan.claim = claim->ratio;
    plan.claim_source = std::move(*claim);
  }
  if (!plan.claim) {
    return fail(ErrorKind::usage, "no claim", path, "add claim = 1.38 (baseline time ÷ candidate time)");
  }
  if (auto good = check_plan(plan); !good) {
    return std::unexpected(good.error());
  }
  return plan;
}

Result<Plan> read_plan(const std::string& path) {
  struct stat status{};
  // A device or a pipe may never end.
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return fail(ErrorKind::bad_input, "not a file", path, "`kvet init` writes a plan");
  }
  auto text = read_file(path);
  if (!text) {
    Error error = text.error();
    error.advice = "`kvet init` writes a plan";
    return std::unexpected(error);
  }
  return parse_plan(*text, path, folder_of(path));
}

Result<void> check_plan(const Plan& plan) {
  auto wrong = [&](const std::string& what, const std::string& advice) {
    return fail(ErrorKind::usage, what, plan.path, advice);
  };
  auto within = [&](Error error) {
    error.subject = plan.path.empty() ? error.subject : plan.path + ": " + error.subject;
    return std::unexpected(std::move(error));
  };
  if (auto cuts = verdict::cuts_for_claim(plan.claim); !cuts) {
    return within(cuts.error());
  }
  // Everything that blocks and captures would stumble over later, after the machine has worked for it.
  std::vector<std::string> patterns = plan.kernels;
  if (plan.step) {
    patterns.push_back(*plan.step);
  }
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) {
      return wrong("an empty pattern among the kernels", "it would match every kernel: name what is compared");
    }
    if (auto usable = Pattern::compile(pattern); !usable) {
      return within(usable.error());
    }
  }
  if (plan.recording.interval) {
    auto usable = parse_duration_ns(*plan.recording.interval, "interval");
    if (!usable) {
      return within(usable.error());
    }
    // As the sampler takes it: otherwise the first block would be the one to say so.
    constexpr int64_t shortest_ns = 2'000, longest_ns = 1'000'000'000;
    if (*usable < shortest_ns || *usable > longest_ns) {
      return wrong(fmt::format("an interval of {} between counter samples", *plan.recording.interval),
                   "2us to 1s are possible");
    }
  }
  if (plan.timeout_ns <= 0 || plan.ready_timeout_ns <= 0) {
    return wrong("a timeout of no time at all", "leave it out, or give what a load or a run takes at most");
  }
  for (const ArmPlan* arm : {&plan.baseline, &plan.candidate}) {
    const char* name = arm == &plan.baseline ? "baseline" : "candidate";
    bool server = plan.server || arm->server, run = plan.run || arm->run;
    if (server == run) {
      return wrong(fmt::format("the {} has {}", name, server ? "both a server and a run command" : "nothing to run"),
                   "give [workload] either server, ready and load, or run");
    }
    if (server && (!plan.ready || !(plan.load || arm->load))) {
      return wrong("a server needs ready (a URL) and load (a command)",
                   "or give run for a program that ends by itself");
    }
  }
  if (plan.ready) {
    if (auto url = parse_ready_url(*plan.ready); !url) {
      return within(url.error());
    }
  }
  if (plan.warmup && !plan.server && !plan.baseline.server) {
    return wrong("warmup is a command, but there is no server to warm up",
                 "write a time that does not count: warmup = \"5s\"");
  }
  const bool arms_differ = plan.baseline.environment != plan.candidate.environment ||
                           plan.baseline.server != plan.candidate.server || plan.baseline.run != plan.candidate.run ||
                           plan.baseline.load != plan.candidate.load;
  if (!arms_differ) {
    return wrong("the arms do not differ", "give [baseline] and [candidate] different env, server or run");
  }
  if (plan.isolated && !plan.isolated->run && !(plan.isolated->baseline && plan.isolated->candidate)) {
    return wrong("[isolated] has no command for both arms", "give run, or baseline and candidate");
  }
  return {};
}

}  // namespace kvet::validate
