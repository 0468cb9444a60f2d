#include "merge/host_clock.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "model/facts.h"
#include "questions/nccl_parts.h"
#include "questions/rank_clock.h"

namespace kvet::merge {
namespace {

constexpr size_t least_collectives = 3;  // two are always on a line
// A wrong numbering holds the length of one step against that of another. Where steps vary, the right one is better by this
// factor than any other; where they don't, lengths tell nothing.
constexpr double clearly_better = 3;
// By how much the time of day of two hosts may differ: NTP keeps it within milliseconds.
constexpr int64_t wall_clock_error_ns = 10'000'000;
constexpr int64_t largest_renumbering = 4096;  // operations that one recording missed at its beginning
constexpr int64_t sampled = 128;  // pairs that a numbering is judged by
constexpr int64_t tolerable_ns = 5'000'000;  // median residual beyond which the ends do not meet at all

using Ends = std::vector<std::pair<int64_t, int64_t>>;  // time of the host, of the reference

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Element i of the reference is element i + shift of the host. Appends the ends that tell; false: the operations differ.
bool pair_up(const SharedSequence& reference, const SharedSequence& host, int64_t shift, Ends& ends) {
  size_t different = 0, compared = 0;
  const auto size = static_cast<int64_t>(host.elements.size());
  for (size_t i = shift < 0 ? static_cast<size_t>(-shift) : 0; i < reference.elements.size(); ++i) {
    const int64_t j = static_cast<int64_t>(i) + shift;
    if (j >= size) {
      break;
    }
    const auto& a = reference.elements[i];
    const auto& b = host.elements[static_cast<size_t>(j)];
    ++compared;
    if (a.what != b.what) {
      ++different;
    } else if (a.executed && b.executed && a.all_depend) {
      ends.emplace_back(b.end_ns, a.end_ns);
    }
  }
  return different * 100 <= compared;  // a call that one probe missed shifts the rest; it does not change its kind
}

HostClock fit(Ends ends) {
  HostClock clock;
  std::ranges::sort(ends);
  // The whole offset first, in integers: clocks of two hosts may be years apart, and a double has 53 bits.
  std::vector<int64_t> differences;
  differences.reserve(ends.size());
  for (const auto& [host, reference] : ends) {
    differences.push_back(difference(host, reference));
  }
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::ranges::nth_element(differences, middle);
  const int64_t whole = *middle;
  std::vector<std::pair<int64_t, double>> behind;
  behind.reserve(ends.size());
  for (const auto& [host, reference] : ends) {
    behind.emplace_back(host, static_cast<double>(difference(difference(host, reference), whole)));
  }
  const questions::RankClock line = questions::fit_rank_clock(behind);
  clock.offset_ns = difference(whole, -std::llround(line.offset_ns));
  clock.from_ns = line.from_ns;
  clock.drift = line.drift;
  clock.collectives = ends.size();
  std::vector<double> left;
  left.reserve(ends.size());
  for (const auto& [host, reference] : ends) {
    left.push_back(std::abs(static_cast<double>(difference(clock.to_reference(host), reference))));
  }
  clock.residual_ns = std::llround(median(left));
  const auto late = left.begin() + static_cast<std::ptrdiff_t>((left.size() - 1) * 95 / 100);
  std::ranges::nth_element(left, late);
  clock.residual_p95_ns = std::llround(*late);
  return clock;
}

// Element i of the reference as element i + shift of the host.
struct Numbering {
  int64_t shift = 0;
  double mismatch_ns = 0;  // median |difference| of the times from one end to the next: free of offset and drift
  int64_t offset_ns = 0;  // median
};

std::optional<Numbering> judged(const SharedSequence& reference, const SharedSequence& host, int64_t shift) {
  const int64_t first = std::max<int64_t>(0, -shift);
  const int64_t last =
      std::min(static_cast<int64_t>(reference.elements.size()), static_cast<int64_t>(host.elements.size()) - shift);
  const size_t shorter = std::min(reference.elements.size(), host.elements.size());
  // Few pairs at the rim of two long sequences prove nothing.
  if (last - first < static_cast<int64_t>(least_collectives) || 2 * (last - first) < static_cast<int64_t>(shorter)) {
    return std::nullopt;
  }
  std::vector<double> mismatches, offsets;
  const auto tells = [](const SharedSequence::Element& element) { return element.executed && element.all_depend; };
  for (int64_t i = first + 1; i < last; i += std::max<int64_t>(1, (last - first) / sampled)) {
    const auto* a = &reference.elements[static_cast<size_t>(i)];
    const auto* b = &host.elements[static_cast<size_t>(i + shift)];
    if (a->what != b->what) {
      return std::nullopt;
    }
    if (tells(a[0]) && tells(a[-1]) && tells(b[0]) && tells(b[-1])) {
      const int64_t here = difference(a[0].end_ns, a[-1].end_ns), there = difference(b[0].end_ns, b[-1].end_ns);
      mismatches.push_back(std::abs(static_cast<double>(difference(here, there))));
      offsets.push_back(static_cast<double>(difference(b[0].end_ns, a[0].end_ns)));
    }
  }
  if (mismatches.size() + 1 < least_collectives) {
    return std::nullopt;
  }
  return Numbering{shift, median(std::move(mismatches)), std::llround(median(std::move(offsets)))};
}

// The numbering of one sequence, where its beginning was not recorded by both.
std::optional<int64_t> numbering_of(const SharedSequence& reference, const SharedSequence& host,
                                    std::optional<int64_t> expected_ns) {
  if (reference.from_the_first && host.from_the_first) {
    return 0;
  }
  std::vector<Numbering> all;
  for (int64_t shift = -largest_renumbering; shift <= largest_renumbering; ++shift) {
    if (const auto numbering = judged(reference, host, shift)) {
      all.push_back(*numbering);
    }
  }
  if (all.empty()) {
    return std::nullopt;
  }
  const double smallest = std::ranges::min_element(all, {}, &Numbering::mismatch_ns)->mismatch_ns;
  std::erase_if(all, [&](const Numbering& n) { return n.mismatch_ns > clearly_better * std::max(smallest, 1.0); });
  if (all.size() == 1) {
    return all[0].shift;
  }
  // As regular as a clock: any of them may be right, and only one that the time of day singles out is believed.
  std::erase_if(all, [&](const Numbering& n) {
    return !expected_ns || std::abs(static_cast<double>(difference(n.offset_ns, *expected_ns))) > wall_clock_error_ns;
  });
  return all.size() == 1 ? std::optional(all[0].shift) : std::nullopt;
}

// The id of the communicator in "captured 3 of 00aa/split 0 color 1": its parts and captured nodes are numbered since it was made.
std::string_view communicator_of(std::string_view key) {
  if (key.starts_with("captured ")) {
    key.remove_prefix(std::min(key.size(), key.find(" of ") + 4));
  }
  return key.substr(0, key.find('/'));
}

}  // namespace

int64_t HostClock::to_reference(int64_t time_ns) const {
  return difference(difference(time_ns, offset_ns),
                    std::llround(drift * static_cast<double>(difference(time_ns, from_ns))));
}

int64_t difference(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) {
    return a < b ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  }
  return result;
}

std::vector<SharedSequence> shared_sequences(const Capture& capture) {
  std::vector<SharedSequence> shared;
  const int64_t recording_began = time_fact(capture, "record.start_ns").value_or(std::numeric_limits<int64_t>::max());
  std::map<std::string, bool, std::less<>> born;  // key of a communicator: made while the recording ran
  for (const Communicator& communicator : capture.communicators) {
    const std::string& key = capture.text(communicator.unique_id);
    const auto found = born.try_emplace(key, true).first;
    found->second = found->second && communicator.created_ns > recording_began;
  }
  for (const questions::Sequence& sequence : questions::find_collectives(capture).sequences) {
    if (sequence.key.empty() || sequence.ranks.empty() || sequence.by == questions::Sequence::By::order ||
        (sequence.by == questions::Sequence::By::graph_node && !sequence.bound)) {
      continue;
    }
    const auto& parts = *std::ranges::max_element(sequence.ranks, {}, [](const auto& rank) { return rank.size(); });
    SharedSequence out;
    out.key = sequence.key;
    const auto known = born.find(communicator_of(sequence.key));
    out.from_the_first = known != born.end() && known->second;
    for (const questions::Part& part : parts) {
      const uint64_t what = std::hash<std::string>{}(to_text(part.what));
      out.elements.push_back({part.end_ns, what, part.executed, questions::all_depend(part.what)});
    }
    shared.push_back(std::move(out));
  }
  return shared;
}

std::optional<HostClock> align(const std::vector<SharedSequence>& reference, const std::vector<SharedSequence>& host,
                               std::optional<int64_t> expected_ns) {
  std::unordered_map<std::string, const SharedSequence*> by_key;
  for (const SharedSequence& sequence : reference) {
    by_key.emplace(sequence.key, &sequence);
  }
  // The longest sequence fixes a first line; with it the others need no guess about their numbering.
  std::vector<std::pair<const SharedSequence*, const SharedSequence*>> common;
  for (const SharedSequence& sequence : host) {
    if (const auto found = by_key.find(sequence.key); found != by_key.end()) {
      common.emplace_back(found->second, &sequence);
    }
  }
  std::ranges::stable_sort(common, std::ranges::greater{}, [](const auto& pair) {
    return std::pair(pair.first->from_the_first && pair.second->from_the_first,
                     std::min(pair.first->elements.size(), pair.second->elements.size()));
  });
  Ends all;
  std::optional<HostClock> clock;
  for (const auto& [a, b] : common) {
    const auto shift = numbering_of(*a, *b, clock ? std::optional(clock->offset_ns) : expected_ns);
    Ends ends;
    if (!shift || !pair_up(*a, *b, *shift, ends) || ends.size() < least_collectives) {
      continue;
    }
    const HostClock own = fit(ends);
    const int64_t when = ends.front().first;
    if (*own.residual_ns > tolerable_ns ||
        (clock &&
         std::abs(static_cast<double>(difference(own.to_reference(when), clock->to_reference(when)))) > tolerable_ns)) {
      continue;
    }
    all.insert(all.end(), ends.begin(), ends.end());
    clock = fit(all);
  }
  return clock;
}

}  // namespace kvet::merge
