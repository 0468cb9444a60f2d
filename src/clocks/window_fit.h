// One stretch of a recording: samples and executions of one device, and how badly they disagree when the samples are
// moved by some offset.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "clocks/load.h"

namespace kvet::clocks {

// A moment at which the device went from idle to busy or back inside one sample, and where it lies in the samples
// compared with the executions.
struct Edge {
  double time_ns = 0;   // since the window's origin
  double error_ns = 0;  // how much later than the offset in question this edge alone would put it
  bool rising = false;
};

// What of a sample is compared: the busy share knows starts and ends, each of the flows one of them.
enum class Channel : uint8_t { everything, warps_launched, blocks_completed };

class WindowFit {
 public:
  // `coarse_offset_ns`: CLOCK_MONOTONIC − raw, roughly; offsets below are corrections to it. Executions must be complete
  // over [from_ns, to_ns) of CLOCK_MONOTONIC; samples that could leave it when moved by up to `search_ns` are left out.
  WindowFit(std::span<const MeasuredLoad> samples, std::span<const ExpectedLoad> executions, int64_t coarse_offset_ns,
            int64_t from_ns, int64_t to_ns, int64_t search_ns);

  // There is something to align by: both sides vary.
  [[nodiscard]] bool usable() const { return use_busy_ || warps_.used || blocks_.used; }
  [[nodiscard]] size_t samples() const { return samples_.size(); }
  [[nodiscard]] double interval_ns() const { return interval_ns_; }  // median length of a sample
  [[nodiscard]] int64_t origin_ns() const { return origin_ns_; }  // CLOCK_MONOTONIC
  [[nodiscard]] bool has_edges() const { return use_busy_; }

  // Disagreement, in samples: 0 for agreement, samples() × channels when everything is wrong. Absolute differences, so
  // that samples that nothing explains (another process, a lost record) shift no minimum.
  [[nodiscard]] double cost(double offset_ns) const;
  // The same, sample by sample.
  void costs(double offset_ns, std::vector<double>& out) const;
  // The offset with the least cost in [middle − reach, middle + reach], to a hundredth of an interval.
  [[nodiscard]] double minimum(double middle_ns, double reach_ns) const {
    return minimum_of(middle_ns, reach_ns, {}, 0.01);
  }
  // The same by one part of the samples alone, of `parts` of equal number: how far these lie apart says how good the
  // whole is. By the flow of warps or blocks alone it is where kernels start or end, to two thousandths of an interval.
  // NaN: nothing varies in this part, or not this channel.
  [[nodiscard]] double part_minimum(double middle_ns, double reach_ns, size_t part, size_t parts,
                                    Channel channel = Channel::everything) const;
  [[nodiscard]] double part_middle_ns(size_t part, size_t parts) const;  // since the origin
  // Where the device became busy or idle, at an offset that is right to within half an interval.
  [[nodiscard]] std::vector<Edge> edges(double offset_ns) const;

 private:
  struct Row {
    double start, end;  // CLOCK_MONOTONIC by the coarse offset, since the origin
    double busy, warps, blocks;
  };
  // Something that is counted when it happens; large counts say hardly more than middling ones.
  struct Flow {
    Cumulative expected;
    double typical = 1;
    bool used = false;
    [[nodiscard]] double squash(double count) const { return count / (count + typical); }
  };
  struct Selection {
    size_t part = 0, parts = 1;
    Channel channel = Channel::everything;
  };
  void judge(Flow& flow, double Row::* measured);
  template <class Take>
  void for_each(double offset_ns, const Selection& selection, Take&& take) const;
  [[nodiscard]] double cost_of(double offset_ns, const Selection& selection) const;
  [[nodiscard]] double minimum_of(double middle_ns, double reach_ns, const Selection& selection, double grain) const;

  std::vector<Row> samples_;
  Cumulative busy_;
  Flow warps_, blocks_;
  int64_t origin_ns_ = 0;
  double interval_ns_ = 0;
  double gain_ = 1;  // measured busy share ÷ expected, where the device was busy throughout
  bool use_busy_ = false;
};

}  // namespace kvet::clocks
