#include "cli/capture_report.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "cli/kernel_list.h"
#include "model/facts.h"
#include "questions/isolated.h"
#include "questions/questions.h"

namespace kvet::cli {
namespace {

// Without a pattern: a screen or two. A pattern says what is wanted, so more is shown.
constexpr size_t most_kernels = 5, most_matching_kernels = 50;

using Window = std::pair<int64_t, int64_t>;

// The part that is to be reported; empty: all of it.
Result<std::optional<Window>> window_of(const Capture& capture, const CaptureQuery& query) {
  if (!query.window_ns) {
    const auto from = time_fact(capture, "window.from_ns");
    const auto to = time_fact(capture, "window.to_ns");
    return from && to && *from < *to ? std::optional(Window{*from, *to}) : std::nullopt;
  }
  const auto start = time_fact(capture, "record.start_ns");
  if (!start) {
    return fail(ErrorKind::bad_input, "does not say when its recording began, so --window has no meaning", capture.path,
                "Leave --window out");
  }
  const auto shifted = [&](int64_t offset) {
    int64_t time = 0;
    return __builtin_add_overflow(*start, offset, &time) ? std::numeric_limits<int64_t>::max() : time;
  };
  return Window{shifted(query.window_ns->first), shifted(query.window_ns->second)};
}

void append(std::vector<Finding>& all, std::vector<Finding> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// All four answers. What they say about the capture as a whole, and not about this kernel, goes to `whole` once.
std::vector<Finding> ask(const Capture& capture, const questions::KernelSet& kernels, const IsolatedProfile* isolated,
                         std::vector<Finding>* whole) {
  std::vector<Finding> findings = questions::occupancy(capture, kernels);
  append(findings, questions::dram(capture, kernels));
  if (isolated != nullptr) {
    append(findings, questions::against_profile(capture, kernels, *isolated, findings));
  }
  append(findings, questions::dispatch(capture, kernels));
  append(findings, questions::conditions(capture, kernels));
  for (Finding& finding : questions::nccl(capture, kernels)) {
    if (finding.subject == kernels.label) {
      findings.push_back(std::move(finding));
    } else if (whole != nullptr) {
      whole->push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace

Result<report::CaptureReport> report_on(Capture& capture, const CaptureQuery& query) {
  report::CaptureReport report;
  report.facts = report::facts_of(capture);
  report.findings = questions::quality(capture);
  if (capture.executions.empty() && report.facts.launches == 0) {
    return no_kernels(capture);
  }
  const auto window = window_of(capture, query);
  if (!window) {
    return std::unexpected(window.error());
  }
  if (*window) {
    const auto began = static_cast<double>(time_fact(capture, "record.start_ns").value_or(0));
    report.facts.window_ns =
        Interval{static_cast<double>((*window)->first) - began, static_cast<double>((*window)->second) - began};
    capture = questions::within_window(capture, (*window)->first, (*window)->second);
    if (capture.executions.empty() && capture.api_calls.empty()) {
      return fail(ErrorKind::bad_input, "nothing was launched and nothing ran within the window", capture.path,
                  "Give another --window");
    }
  }
  std::vector<ListedKernel> kernels = list_kernels(capture);
  double time_ns = 0;
  for (const ListedKernel& kernel : kernels) {
    time_ns += kernel.time_ns;
  }
  size_t most = most_kernels;
  if (!query.kernels.empty()) {
    const auto wanted = questions::select_kernels(capture, query.kernels);
    if (!wanted) {
      return std::unexpected(wanted.error());
    }
    std::erase_if(kernels,
                  [&](const ListedKernel& kernel) { return !wanted->contains(ShapeId{*kernel.shapes.begin()}); });
    most = most_matching_kernels;
  }
  std::vector<Finding>* whole = &report.findings;
  for (const ListedKernel& kernel : kernels) {
    const double share = time_ns > 0 ? 100 * kernel.time_ns / time_ns : 0;
    if (report.kernels.size() == most) {
      ++report.kernels_left_out;
      report.left_out_percent += share;
      continue;
    }
    report.kernels.push_back({kernel.name, kernel.executions, kernel.time_ns, share,
                              ask(capture, kernel_set_of(capture, kernel), query.isolated, whole)});
    whole = nullptr;
  }
  if (kernels.empty()) {
    // The host tier: launches without executions. The questions say what can be said about launches of any kernel.
    questions::KernelSet any;
    any.label = "all launches";
    any.has_shape.assign(capture.shapes.size(), true);
    report.kernels.push_back({any.label, 0, 0, 0, ask(capture, any, nullptr, whole)});
  }
  return report;
}

}  // namespace kvet::cli
