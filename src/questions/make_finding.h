// Shorthand for building findings.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/finding.h"
#include "questions/statistics.h"

namespace kvet::questions {

inline Finding found(Question question, std::string id, std::string subject, double value, std::string unit,
                     Evidence evidence, uint64_t observations, std::string sentence) {
  Finding finding;
  finding.id = std::move(id);
  finding.question = question;
  finding.subject = std::move(subject);
  finding.value = value;
  finding.unit = std::move(unit);
  finding.evidence = evidence;
  finding.observations = observations;
  finding.sentence = std::move(sentence);
  return finding;
}

inline Finding unavailable(Question question, std::string id, std::string subject, std::string unit, std::string reason,
                           std::string advice) {
  Finding finding;
  finding.id = std::move(id);
  finding.question = question;
  finding.subject = std::move(subject);
  finding.unit = std::move(unit);
  finding.reason = std::move(reason);
  finding.advice = std::move(advice);
  finding.sentence = "Not known: " + finding.reason + ".";
  return finding;
}

// Absurd values in a file can make a sum infinite: then the number is not known.
inline std::vector<Finding> only_finite(std::vector<Finding> findings) {
  for (Finding& finding : findings) {
    if (finding.value && !std::isfinite(*finding.value)) {
      std::string beside = std::move(finding.beside);
      finding = unavailable(finding.question, finding.id, finding.subject, finding.unit,
                            "the values in the capture are not plausible", "record again");
      finding.beside = std::move(beside);
    } else if (finding.interval && !(std::isfinite(finding.interval->low) && std::isfinite(finding.interval->high))) {
      finding.interval.reset();
    }
  }
  return findings;
}

// The interval of an estimate, scaled like the value, and kept where it makes sense.
inline Interval scaled(const Interval& interval, double factor, double least, double most) {
  auto bounded = [&](double value) { return value < least ? least : value > most ? most : value; };
  return {bounded(interval.low * factor), bounded(interval.high * factor)};
}

}  // namespace kvet::questions
