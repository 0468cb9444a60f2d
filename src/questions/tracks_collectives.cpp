// Collectives of each rank: how long it waited for others, and how long it transferred, as slices apart.
#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>

#include "questions/nccl_analysis.h"
#include "questions/tracks_parts.h"

namespace kvet::questions {
namespace {

struct Piece {
  uint32_t rank;
  DeviceId device;
  int64_t start_ns, end_ns;
  const CollectiveClass* what;
  const char* part;
  const char* category;
};

}  // namespace

void tell_collectives(TrackBook& book) {
  const NcclAnalysis analysis = analyse_collectives(book.capture);
  std::vector<Piece> pieces;
  std::unordered_set<uint32_t> matched;  // by execution
  for (const Measured& one : analysis.measured) {
    // The analysis is on one clock for all ranks; the other tracks are on the capture's.
    const int64_t start = one.start_ns - one.shift_ns, end = one.end_ns - one.shift_ns;
    const int64_t came = std::min(end, start + static_cast<int64_t>(one.wait_ns));
    if (came > start) {
      pieces.push_back({one.rank, one.device, start, came, &one.what, "waiting for other ranks", "arrival wait"});
    }
    if (one.transfer_ns > 0) {
      const int64_t began = end - static_cast<int64_t>(one.transfer_ns);
      pieces.push_back({one.rank, one.device, std::max(start, began), end, &one.what, "transfer", "transfer"});
    }
    if (one.execution) {
      matched.insert(*one.execution);
    }
  }
  auto add_unmatched = [&](const Part& part) {
    if (part.executed && part.execution && !matched.contains(*part.execution)) {
      pieces.push_back({part.rank, part.device, part.start_ns - part.shift_ns, part.end_ns - part.shift_ns, &part.what,
                        "other ranks not in sight", "collective"});
    }
  };
  for (const Sequence& sequence : analysis.collectives.sequences) {
    for (const std::vector<Part>& rank : sequence.ranks) {
      std::ranges::for_each(rank, add_unmatched);
    }
  }
  std::ranges::for_each(analysis.collectives.point_to_point, add_unmatched);

  std::ranges::stable_sort(pieces, [](const Piece& a, const Piece& b) {
    return std::pair{a.start_ns, -a.end_ns} < std::pair{b.start_ns, -b.end_ns};
  });
  std::map<std::pair<uint32_t, uint32_t>, LanedTrack> tracks;  // rank, device
  for (const Piece& piece : pieces) {
    const auto key = std::pair{piece.rank, piece.device.value};
    auto track = tracks.find(key);
    if (track == tracks.end()) {
      const Rank& rank = analysis.collectives.ranks[piece.rank];
      track =
          tracks
              .emplace(key, LanedTrack(book, book.process_device(rank.process, piece.device), TrackKind::collectives,
                                       fmt::format("Collectives of {}", rank.label), Lanes::Nesting::none))
              .first;
    }
    const TimelineArgument arguments[] = {{"collective", book.name(to_text(*piece.what))}};
    book.sink.on(TimelineSlice{track->second.at(piece.start_ns, piece.end_ns),
                               piece.start_ns,
                               piece.end_ns,
                               book.name(fmt::format("{}: {}", to_text(*piece.what), piece.part)),
                               piece.category,
                               arguments,
                               {},
                               std::nullopt});
  }
}

}  // namespace kvet::questions
