#include <fmt/core.h>

#include <map>

#include "base/text.h"
#include "base/version.h"
#include "cli/doctor_report.h"

namespace kvet::cli {

namespace {

using namespace capability;

constexpr size_t width = 100;

// `text` broken between words, every line but the first moved in by `indent`; the first begins at column `indent` too.
std::string wrapped(std::string_view text, size_t indent) {
  std::string out;
  size_t at = indent;
  for (std::string_view word : split(text, ' ')) {
    // A path longer than the page is broken where the page ends.
    while (at == indent && word.size() > width - indent) {
      out += word.substr(0, width - indent);
      out += '\n' + std::string(indent, ' ');
      word.remove_prefix(width - indent);
    }
    if (at > indent && at + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out + '\n';
}

const char* heading(Part part) {
  switch (part) {
    case Part::host: return "Host side: launches, off-CPU time, NCCL calls";
    case Part::device: return "Device side: executions, names, shapes";
    case Part::counters: return "Counters: occupancy, DRAM, clocks";
    case Part::context: return "Worth knowing";
  }
  return "?";
}

// "yes", "NO" where it hurts, "no" where it does not, "?" where nobody knows.
const char* mark(const Requirement& requirement) {
  switch (requirement.state) {
    case State::present: return "yes";
    case State::absent: return requirement.needed ? "NO" : "no";
    case State::unknown: return "?";
  }
  return "?";
}

void add_requirement(std::string& out, const Requirement& requirement) {
  constexpr size_t column = 8, detail_column = 42;
  std::string line = fmt::format("  {:<5} {}", mark(requirement), requirement.name);
  line.append(line.size() < detail_column ? detail_column - line.size() : 1, ' ');
  out += line + wrapped(printable(requirement.detail), detail_column);
  if (requirement.state == State::present) {
    return;
  }
  out += std::string(column, ' ') + wrapped("for: " + requirement.why, column + 5);
  if (!requirement.fix.empty()) {
    out += std::string(column, ' ') + wrapped("fix: " + requirement.fix, column + 5);
  }
}

std::string microseconds(std::optional<double> nanoseconds) {
  return nanoseconds ? fmt::format("{:.2f} us", *nanoseconds / 1000) : "not measured";
}

void add_cost(std::string& out, const HitCost& cost) {
  out += "\nCost of one uprobe hit here\n";
  if (!cost.push_ns && !cost.other_ns) {
    out += "  " + wrapped("not measured: " + cost.reason, 2);
    return;
  }
  out += fmt::format("  {:<14} {:<12} the kernel emulates the instruction\n", microseconds(cost.push_ns), "push");
  out += fmt::format("  {:<14} {:<12} single-stepped\n", microseconds(cost.endbr64_ns), "endbr64");
  out += fmt::format("  {:<14} {:<12} single-stepped\n", microseconds(cost.other_ns), "other");
  out += fmt::format("  {:<14} {:<12} what seeing the return adds\n", microseconds(cost.return_ns), "return");
  if (!cost.reason.empty()) {
    out += "  " + wrapped("the rest was not measured: " + cost.reason, 2);
  }
}

void add_library(std::string& out, const ProbedLibrary& library) {
  out += "  " + wrapped(printable(library.path), 2);
  std::map<FirstInstruction, std::string> by_instruction;
  for (const LookedAtFunction& function : library.functions) {
    by_instruction[function.instruction] += ' ' + function.name;
  }
  constexpr size_t column = 16;
  auto row = [&](const char* left, std::string_view names) {
    out += fmt::format("    {:<12}", left) + wrapped(printable(trimmed(names)), column);
  };
  for (const auto& [instruction, names] : by_instruction) {
    row(name(instruction), names);
  }
  std::string missing;
  for (const std::string& function : library.missing) {
    missing += ' ' + function;
  }
  if (!missing.empty()) {
    row("not in it", missing);
  }
}

void add_tier(std::string& out, const char* way, Tier tier) {
  out += fmt::format("  {:<24}{}", way, wrapped(fmt::format("{}: {}", name(tier), gives(tier)), 26));
}

}  // namespace

std::string doctor_text(const DoctorFindings& findings) {
  const Assessment& assessment = findings.assessment;
  std::string out = wrapped(fmt::format("kvet {} on {}", version(), printable(findings.kernel)), 0);
  out += "\nTier\n";
  add_tier(out, "kvet record -- CMD", assessment.command);
  add_tier(out, "kvet record --pid P", assessment.running);
  std::string missing;
  for (const Requirement& requirement : assessment.requirements) {
    if (requirement.needed && requirement.state != State::present) {
      missing += (missing.empty() ? "" : ", ") + requirement.name;
    }
  }
  if (!missing.empty()) {
    out += fmt::format("  {:<24}{}", "missing for more", wrapped(missing, 26));
  }
  for (Part part : {Part::host, Part::device, Part::counters, Part::context}) {
    out += fmt::format("\n{}\n", heading(part));
    for (const Requirement& requirement : assessment.requirements) {
      if (requirement.part == part) {
        add_requirement(out, requirement);
      }
    }
  }
  if (const auto lines = calibration_lines(findings); !lines.empty()) {
    out += "\nDRAM, as measured here\n";
    for (const std::string& line : lines) {
      const size_t indent = line.find_first_not_of(' ');
      out += line.substr(0, indent) + "  " + wrapped(line.substr(indent), indent + 2);
    }
  }
  add_cost(out, findings.cost);
  out += "\nFirst instruction of the functions that are probed\n";
  if (findings.libraries.empty()) {
    out += "  no libcuda and no libnccl found; name one with --libcuda or --libnccl\n";
  }
  for (const ProbedLibrary& library : findings.libraries) {
    add_library(out, library);
  }
  return out;
}

}  // namespace kvet::cli
