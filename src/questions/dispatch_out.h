// What the parts of the dispatch question share when they write findings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "questions/dispatch_parts.h"
#include "questions/distribution.h"
#include "questions/make_finding.h"

namespace kvet::questions {

// 0 of nothing.
inline double percent(auto part_ns, auto whole_ns) {
  const double part = static_cast<double>(part_ns), whole = static_cast<double>(whole_ns);
  return whole > 0 ? 100 * part / whole : 0;
}

// Writes findings about one dispatcher.
class Out {
 public:
  Out(std::vector<Finding>& findings, const DispatchContext& context, const Dispatcher& dispatcher)
      : findings_(findings), context_(context), dispatcher_(dispatcher) {}

  void value(const std::string& id, double value, const char* unit, uint64_t observations, std::string sentence,
             Evidence evidence = Evidence::measured) {
    findings_.push_back(found(Question::dispatch, "dispatch." + id, context_.subject, value, unit, evidence,
                              observations, std::move(sentence)));
    findings_.back().beside = dispatcher_.label;
  }
  void missing(const std::string& id, const char* unit, std::string reason, std::string advice) {
    findings_.push_back(unavailable(Question::dispatch, "dispatch." + id, context_.subject, unit, std::move(reason),
                                    std::move(advice)));
    findings_.back().beside = dispatcher_.label;
  }
  void distribution(const std::string& id, std::string what, std::vector<double>& values, Evidence evidence) {
    append_distribution(findings_,
                        {Question::dispatch, "dispatch." + id, context_.subject, dispatcher_.label, std::move(what),
                         "ns", evidence, 0, 0},
                        values);
  }

 private:
  std::vector<Finding>& findings_;
  const DispatchContext& context_;
  const Dispatcher& dispatcher_;
};

}  // namespace kvet::questions
