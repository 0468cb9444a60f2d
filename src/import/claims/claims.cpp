#include "import/claims/claims.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "import/bounded_file.h"
#include "import/claims/result_file.h"

namespace kvet::importing {
namespace {

constexpr std::string_view versus = " vs ";
constexpr size_t most_listed = 10, longest_listed = 80;  // ids in a message, bytes of each
constexpr double largest_ratio = 1e6;
// Files round what they print: 1.4 against 1.42 is one statement.
constexpr double agreement = 0.05;

struct Place {
  std::string file, id;
};

bool is_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string within(const std::string& folder, std::string_view path) {
  return folder.empty() || path.starts_with('/') ? std::string(path) : folder + "/" + std::string(path);
}

// Paths and ids may both hold a '#': the shortest path that is a file counts.
Place place_of(std::string_view text, const std::string& folder) {
  text = trimmed(text);
  if (is_file(within(folder, text))) {
    return {within(folder, text), ""};
  }
  for (size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    if (is_file(within(folder, text.substr(0, at)))) {
      return {within(folder, text.substr(0, at)), std::string(trimmed(text.substr(at + 1)))};
    }
  }
  const size_t first = std::min(text.find('#'), text.size());
  return {within(folder, text.substr(0, first)), std::string(trimmed(text.substr(std::min(first + 1, text.size()))))};
}

std::string listed(const std::vector<ResultRow>& rows) {
  std::string text;
  for (size_t i = 0; i < std::min(rows.size(), most_listed); ++i) {
    const std::string& id = rows[i].id;
    text += (i > 0 ? ", " : "") + (id.size() > longest_listed ? id.substr(0, longest_listed) + "…" : id);
  }
  return rows.size() > most_listed ? text + fmt::format(" and {} more", rows.size() - most_listed) : text;
}

Result<const ResultRow*> find_row(const ResultFile& file, const std::string& id) {
  if (file.rows.empty()) {
    return fail(ErrorKind::bad_input, fmt::format("holds no result ({})", file.format), file.path);
  }
  if (id.empty()) {
    if (file.rows.size() == 1) {
      return &file.rows.front();
    }
    return fail(ErrorKind::bad_input, fmt::format("holds {} results", file.rows.size()), file.path,
                fmt::format("Write FILE#ID; there are {}", listed(file.rows)));
  }
  std::vector<const ResultRow*> exact, alias;
  for (const ResultRow& row : file.rows) {
    if (row.id == id) {
      exact.push_back(&row);
    } else if (std::ranges::find(row.aliases, id) != row.aliases.end()) {
      alias.push_back(&row);
    }
  }
  const std::vector<const ResultRow*>& found = exact.empty() ? alias : exact;
  if (found.empty()) {
    return fail(ErrorKind::bad_input, fmt::format("has no result '{}'", id.substr(0, 200)), file.path,
                fmt::format("There are {}", listed(file.rows)));
  }
  if (found.size() > 1) {
    return fail(ErrorKind::bad_input,
                fmt::format("has {} results '{}': {} and {}", found.size(), id.substr(0, 200), found[0]->where,
                            found[1]->where),
                file.path,
                exact.empty() ? "Name it by its whole id: " + found[0]->id.substr(0, 200) : "Take out all but one");
  }
  return found.front();
}

std::string subject_of(const ResultFile& file, const ResultRow& row) {
  return row.where.empty() ? file.path : fmt::format("{}: {}", file.path, row.where);
}

std::unexpected<Error> no_claim(const ResultFile& file, const ResultRow& row, const std::string& what,
                                const std::string& advice = {}) {
  return fail(ErrorKind::bad_input, fmt::format("'{}' is no claim: {}", row.id.substr(0, 200), what),
              subject_of(file, row), advice);
}

Result<Claim> checked(Claim claim, const ResultFile& file, const ResultRow& row) {
  if (!std::isfinite(claim.ratio) || claim.ratio <= 0 || claim.ratio > largest_ratio) {
    return no_claim(file, row, fmt::format("its ratio is {}", claim.ratio));
  }
  return claim;
}

// One row that has both arms.
Result<Claim> claim_of(const ResultFile& file, const ResultRow& row) {
  if (!row.problem.empty()) {
    return no_claim(file, row, row.problem);
  }
  const bool times = row.baseline_ns && row.candidate_ns;
  if (!times && !row.ratio) {
    return no_claim(file, row, "it has one time and nothing to compare it with",
                    "Name the baseline too: FILE#BASELINE vs CANDIDATE");
  }
  const double by_times = times ? *row.baseline_ns / *row.candidate_ns : *row.ratio;
  if (row.ratio && std::abs(std::log(*row.ratio / by_times)) > agreement) {
    return no_claim(file, row,
                    fmt::format("it says {:.4g} times as fast, its own times say {:.4g}", *row.ratio, by_times));
  }
  return checked({by_times, row.baseline_ns, row.candidate_ns, row.device, file.format, file.path, row.id, row.where,
                  row.known_correct},
                 file, row);
}

// Two rows, a time of each.
Result<Claim> claim_of(const ResultFile& baseline_file, const ResultRow& baseline, const ResultFile& candidate_file,
                       const ResultRow& candidate) {
  for (const auto& [file, row] : {std::pair{&baseline_file, &baseline}, std::pair{&candidate_file, &candidate}}) {
    if (!row->problem.empty()) {
      return no_claim(*file, *row, row->problem);
    }
    if (!row->candidate_ns) {
      return no_claim(*file, *row, "it has no time");
    }
  }
  if (!baseline.device.empty() && !candidate.device.empty() && baseline.device != candidate.device) {
    return no_claim(candidate_file, candidate,
                    fmt::format("the baseline was measured on {}, the candidate on {}", baseline.device.substr(0, 100),
                                candidate.device.substr(0, 100)));
  }
  if (!baseline.workload.empty() && !candidate.workload.empty() && baseline.workload != candidate.workload) {
    return no_claim(candidate_file, candidate,
                    "the baseline's workload is another: " + baseline.workload.substr(0, 200));
  }
  Claim claim;
  claim.baseline_ns = baseline.candidate_ns;
  claim.candidate_ns = candidate.candidate_ns;
  claim.ratio = *claim.baseline_ns / *claim.candidate_ns;
  claim.device = candidate.device.empty() ? baseline.device : candidate.device;
  claim.format = candidate_file.format;
  claim.file = candidate_file.path;
  claim.id = fmt::format("{} vs {}", baseline.id, candidate.id);
  claim.where = candidate.where;
  claim.known_correct = baseline.known_correct && candidate.known_correct;
  return checked(std::move(claim), candidate_file, candidate);
}

Result<ResultFile> read_results(const std::string& path) {
  auto content = read_bounded(path, most_claim_bytes, "cut out the result that is meant");
  return content ? parse_results(*content, path) : Result<ResultFile>(std::unexpected(content.error()));
}

}  // namespace

bool names_a_claim_file(std::string_view text, const std::string& folder) {
  text = trimmed(text);
  struct stat status{};
  // The format goes by the content, and so a file may have any name. What is there and is no file is refused as what it is.
  if (!text.empty() && text.find('\0') == std::string_view::npos &&
      ::stat(within(folder, text).c_str(), &status) == 0) {
    return true;
  }
  return text.find('#') != std::string_view::npos || text.find(versus) != std::string_view::npos ||
         text.ends_with(".json") || text.ends_with(".jsonl") || text.ends_with(".tsv");
}

Result<Claim> claim_in(std::string_view content, const std::string& path, const std::string& id) {
  auto file = parse_results(content, path);
  if (!file) {
    return std::unexpected(file.error());
  }
  auto row = find_row(*file, id);
  return row ? claim_of(*file, **row) : Result<Claim>(std::unexpected(row.error()));
}

Result<Claim> read_claim(const std::string& reference, const std::string& folder) {
  const std::string_view text = reference;
  const size_t middle = text.find(versus);
  const Place first = place_of(text.substr(0, middle), folder);
  if (const std::string_view file_text = trimmed(text.substr(0, middle));
      file_text.empty() || (file_text.front() == '#' && !is_file(first.file))) {
    return fail(ErrorKind::bad_input, fmt::format("'{}' names no file", reference.substr(0, 200)), "claim",
                "Write FILE#ID, FILE, or a ratio such as 1.38");
  }
  auto file = read_results(first.file);
  if (!file) {
    return std::unexpected(file.error());
  }
  auto row = find_row(*file, first.id);
  if (!row) {
    return std::unexpected(row.error());
  }
  if (middle == std::string_view::npos) {
    return claim_of(*file, **row);
  }
  const std::string_view right = trimmed(text.substr(middle + versus.size()));
  Place second = place_of(right, folder);
  if (!first.id.empty() && !is_file(second.file)) {  // an id of the same file
    second = {first.file, std::string(trimmed(right.starts_with('#') ? right.substr(1) : right))};
  }
  Result<ResultFile> other = second.file == first.file ? Result<ResultFile>(*file) : read_results(second.file);
  if (!other) {
    return std::unexpected(other.error());
  }
  auto other_row = find_row(*other, second.id);
  return other_row ? claim_of(*file, **row, *other, **other_row) : Result<Claim>(std::unexpected(other_row.error()));
}

}  // namespace kvet::importing
