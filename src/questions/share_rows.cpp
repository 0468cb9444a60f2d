#include "questions/share_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "questions/nccl_parts.h"

namespace kvet::questions {
namespace {

constexpr size_t most_at_once = 256;  // copies: an engine each, and no device has more than about ten
constexpr double most_warps = 1e7;  // of a device: the largest today hold about 12,000

// Bytes that each copy moves, spread evenly over its time.
class Copies {
 public:
  Copies(const Capture& capture, DeviceId device) {
    for (const Transfer& transfer : capture.transfers) {
      if (transfer.device == device && transfer.end_ns > transfer.start_ns) {
        transfers_.push_back(&transfer);
      }
    }
  }
  // Samples must come by start.
  void add(const Sample& sample, ShareRow& row) {
    for (; next_ < transfers_.size() && transfers_[next_]->start_ns < sample.end_ns; ++next_) {
      if (running_.size() < most_at_once) {
        running_.push_back(transfers_[next_]);
      }
    }
    std::erase_if(running_, [&](const Transfer* transfer) { return transfer->end_ns <= sample.start_ns; });
    for (const Transfer* transfer : running_) {
      const auto part = static_cast<double>(std::min(transfer->end_ns, sample.end_ns) -
                                            std::max(transfer->start_ns, sample.start_ns));
      if (part <= 0) {
        continue;
      }
      const double bytes =
          static_cast<double>(transfer->bytes) * part / static_cast<double>(transfer->end_ns - transfer->start_ns);
      const TransferKind kind = transfer->kind;
      const bool reads = kind != TransferKind::host_to_device && kind != TransferKind::memset;
      const bool writes = kind != TransferKind::device_to_host;
      row.copy_read_bytes += reads ? bytes : 0;
      row.copy_write_bytes += writes ? bytes : 0;
    }
  }

 private:
  std::vector<const Transfer*> transfers_, running_;
  size_t next_ = 0;
};

class Parties {
 public:
  Parties(const KernelSet& kernels, std::vector<Party>& parties) : kernels_(kernels), parties_(parties) {}
  size_t of(PartyKind kind, ShapeId shape) {
    const auto [found, added] = index_.try_emplace({static_cast<uint8_t>(kind), shape.value}, parties_.size());
    if (added) {
      parties_.push_back({kind, shape, kind != PartyKind::unexplained && kernels_.contains(shape)});
    }
    return found->second;
  }

 private:
  const KernelSet& kernels_;
  std::vector<Party>& parties_;
  std::map<std::pair<uint8_t, uint32_t>, size_t> index_;
};

bool plausible(const SampleResidency& residency) {
  auto good = [](double warps) { return warps >= 0 && warps <= most_warps; };
  return residency.sample != nullptr && good(residency.unexplained) &&
         std::ranges::all_of(residency.kernels, [&](const ResidentKernel& kernel) { return good(kernel.warps); });
}

void fill(ShareRow& row, const SampleResidency& residency, const CollectivePhases& phases, const KernelSet& kernels,
          Parties& parties) {
  auto add = [&](PartyKind kind, ShapeId shape, double warps) {
    if (warps > 0) {
      row.warp_ns.emplace_back(parties.of(kind, shape), warps * row.length_ns);
    }
  };
  const int64_t from = residency.sample->start_ns, to = residency.sample->end_ns;
  for (const ResidentKernel& kernel : residency.kernels) {
    (kernels.contains(kernel.shape) ? row.own : row.others) = true;
    const bool collective =
        kernel.shape.value < phases.is_collective.size() && phases.is_collective[kernel.shape.value];
    const auto waiting = collective ? static_cast<double>(phases.waiting.covered(from, to)) : 0;
    const auto transferring = collective ? static_cast<double>(phases.transferring.covered(from, to)) : 0;
    if (waiting + transferring > 0) {
      add(PartyKind::waiting, kernel.shape, kernel.warps * waiting / (waiting + transferring));
      add(PartyKind::transferring, kernel.shape, kernel.warps * transferring / (waiting + transferring));
    } else {
      add(PartyKind::kernel, kernel.shape, kernel.warps);
    }
  }
  add(PartyKind::unexplained, ShapeId{}, residency.unexplained);
}

// Stretches of time with about as many co-run rows each: by rows, since co-run time may be rare.
void cut_into_blocks(ShareTable& table, size_t bands) {
  const auto corun =
      static_cast<size_t>(std::ranges::count_if(table.rows, [](const ShareRow& row) { return row.corun_ns > 0; }));
  // A block of fewer than 5 samples is shorter than what makes neighbouring samples alike.
  table.blocks = std::clamp<size_t>(corun / 5, 1, bands);
  size_t seen = 0;
  for (ShareRow& row : table.rows) {
    row.block = corun == 0 ? 0 : std::min(table.blocks - 1, seen * table.blocks / corun);
    seen += row.corun_ns > 0 ? 1 : 0;
  }
}

}  // namespace

CollectivePhases collective_phases(const Capture& capture, DeviceId device) {
  const Collectives collectives = find_collectives(capture);
  CollectivePhases phases;
  phases.is_collective = collectives.shape_is_nccl;
  if (std::ranges::find(phases.is_collective, true) == phases.is_collective.end()) {
    return phases;
  }
  std::vector<Span> waiting, transferring;
  for (const Matched& matched : match_ranks(collectives).collectives) {
    for (const Part& part : matched.parts) {
      if (part.device != device || !part.executed) {
        continue;
      }
      int64_t begun = part.start_ns;
      for (const Part& other : matched.parts) {
        if (depends_on(part, other)) {
          begun = std::max(begun, other.start_ns);
        }
      }
      begun = std::min(begun, part.end_ns);
      waiting.push_back({part.start_ns, begun});
      transferring.push_back({begun, part.end_ns});
    }
  }
  phases.waiting = SpanSet{std::move(waiting)};
  phases.transferring = SpanSet{std::move(transferring)};
  return phases;
}

ShareTable share_table(const Capture& capture, const KernelSet& kernels, const DeviceTimeline& timeline,
                       const DeviceSamples& samples, const DeviceResidency& residency, size_t bands) {
  ShareTable table;
  table.corun_ns = static_cast<double>(timeline.beside.total());
  const CollectivePhases phases = collective_phases(capture, timeline.device);
  Parties parties{kernels, table.parties};
  Copies copies{capture, timeline.device};
  const int64_t guard = samples.guard_ns.value_or(0);
  struct Counted {
    double inside = 0, part = 0;
    double own_warps = 0, own_error = 0;
  };
  std::vector<Counted> parts;
  double inside = 0, partly = 0;
  for (const SampleResidency& each : residency.samples) {
    if (!plausible(each) || each.sample->end_ns <= each.sample->start_ns) {
      continue;
    }
    const int64_t from = each.sample->start_ns, to = each.sample->end_ns;
    ShareRow row;
    row.sample = each.sample;
    row.set = each.set;
    row.length_ns = static_cast<double>(to - from);
    fill(row, each, phases, kernels, parties);
    copies.add(*each.sample, row);
    Counted part;
    // K's warps are known: how the rest falls to its siblings then matters little.
    row.resolved = each.resolved || each.own.resolved;
    part.own_warps = each.own.warps;
    part.own_error = each.own.prior_error;
    if (row.own && row.others) {
      const auto beside = static_cast<double>(timeline.beside.covered(from, to));
      const bool wholly = timeline.beside.covered(from - guard, to + guard) == to - from + 2 * guard;
      part.inside = wholly ? row.length_ns : 0;
      part.part = 2 * beside >= row.length_ns ? beside : 0;
    }
    inside += part.inside;
    partly += part.part;
    parts.push_back(part);
    table.rows.push_back(std::move(row));
  }
  // As dram.corun.device counts: samples inside, where there are enough of them to stand for all of co-run time.
  table.inside = inside > 0 && 2 * inside >= partly;
  auto counts = [&](const Counted& part) { return table.inside ? part.inside : part.part; };
  double warps = 0, errors = 0;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    ShareRow& row = table.rows[i];
    row.corun_ns = counts(parts[i]);
    table.sampled_ns += row.corun_ns;
    if (!row.resolved) {
      table.unresolved_ns += row.corun_ns;
      warps += parts[i].own_warps * row.corun_ns;
      errors += parts[i].own_error * row.corun_ns;
    }
  }
  table.unresolved_error = warps > 0 && std::isfinite(errors) ? std::min(1.0, errors / warps) : 1;
  cut_into_blocks(table, bands);
  return table;
}

}  // namespace kvet::questions
