// One number with its evidence: what questions/ and verdict/ produce and report/ renders. Renderers never compute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvet {

enum class Evidence : uint8_t {
  measured,     // read directly over an interval in which nothing else could have contributed
  attributed,   // a shared reading split between contributors, with the error of the split
  modelled,     // computed from launch parameters or a specification
  unavailable,  // not known: `reason` says why, `advice` how to get it
};

enum class Question : uint8_t { occupancy, dram, dispatch, nccl, capture, verdict };

struct Interval {
  double low = 0, high = 0;  // 95%, unless a finding's sentence says otherwise
};

struct Finding {
  std::string id;  // stable, dotted: "occupancy.solo", "dispatch.starvation.stream"; docs/findings.md lists them all
  Question question = Question::capture;
  std::string subject;  // kernel name, "rank 1", a sibling; "" for the whole capture. Raw text: renderers escape
  std::string beside;   // the sibling, thread or rank that the number is about, if any
  std::optional<double> value;  // empty exactly when evidence is unavailable
  std::string unit;             // "%", "ns", "bytes/s", "ratio", "count", …
  std::optional<Interval> interval;
  uint64_t observations = 0;
  Evidence evidence = Evidence::unavailable;
  std::string sentence;  // what a person reads
  std::string reason;    // for unavailable: why
  std::string advice;    // what to do to get it, or about it
};

[[nodiscard]] const char* name(Evidence evidence);
[[nodiscard]] const char* name(Question question);

}  // namespace kvet
