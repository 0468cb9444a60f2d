#include "gpu_work/dram.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "gpu_work/kernels.h"

namespace kvet::gpu_work {

namespace {

using std::chrono::nanoseconds;

constexpr uint64_t mebibyte = 1ull << 20, gibibyte = 1ull << 30;
// A cyclic sweep over 20 times the cache finds at most 1/20 of it there.
constexpr uint64_t caches_per_buffer = 20;
// A start and an end of some microseconds are then below 0.1%.
constexpr nanoseconds shortest_round = std::chrono::milliseconds(50), wanted_round = std::chrono::milliseconds(60);
constexpr nanoseconds round_limit = std::chrono::seconds(20);
constexpr uint32_t rounds_with_best_shape = 7;

// Blocks per multiprocessor and threads. With eight loads of 16 bytes per thread, 512 threads have 64 KiB in flight on a
// multiprocessor; at 5 TB/s and 1 µs, 132 multiprocessors need 38 KiB each. More is not always better: it scatters rows.
constexpr LaunchShape shapes[] = {{1, 512}, {2, 512}, {2, 256}, {4, 256}, {8, 128}};

struct Round {
  nanoseconds time{};
  uint64_t rate = 0, by_globaltimer = 0;
};

uint64_t per_second(uint64_t bytes, nanoseconds time) {
  return time.count() <= 0
             ? 0
             : static_cast<uint64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(time.count()));
}

class Bench {
 public:
  Bench(const Context& context, const DramObserver& observer, uint64_t buffer_bytes, DeviceBuffer arena,
        MappedBuffer records, Stream stream, Event begin, Event end,
        std::array<Function, dram_patterns.size()> functions)
      : context_(context),
        observer_(observer),
        buffer_bytes_(buffer_bytes),
        arena_(std::move(arena)),
        records_(std::move(records)),
        stream_(std::move(stream)),
        begin_(std::move(begin)),
        end_(std::move(end)),
        functions_(std::move(functions)) {}

  // Writes all of the memory, so that nothing is read that was never written.
  Result<void> fill() {
    const auto filled = round(DramPattern::write, {2, 512}, 3);
    return filled ? Result<void>{} : std::unexpected(filled.error());
  }

  Result<DramRate> measure(DramPattern pattern, std::vector<std::string>& notes) {
    const uint32_t rounds = static_cast<uint32_t>(std::size(shapes)) + rounds_with_best_shape - 1;
    const auto amount = long_enough(pattern);
    if (!amount) {
      return std::unexpected(amount.error());
    }
    DramRate rate;
    uint32_t number = 0;
    std::vector<Round> kept;
    for (const LaunchShape shape : shapes) {
      observer_.round_begins(pattern, ++number, rounds);
      const auto one = round(pattern, shape, *amount);
      if (!one) {
        return std::unexpected(one.error());
      }
      if (kept.empty() || one->rate > kept.front().rate) {
        kept = {*one};
        rate.shape = shape;
      }
    }
    while (number < rounds) {
      observer_.round_begins(pattern, ++number, rounds);
      const auto one = round(pattern, rate.shape, *amount);
      if (!one) {
        return std::unexpected(one.error());
      }
      kept.push_back(*one);
    }
    summarise(pattern, kept, rate, notes);
    return rate;
  }

 private:
  static void summarise(DramPattern pattern, std::vector<Round>& kept, DramRate& rate,
                        std::vector<std::string>& notes) {
    std::ranges::sort(kept, {}, &Round::rate);
    rate.rounds = static_cast<uint32_t>(kept.size());
    rate.lowest = kept.front().rate;
    rate.median = kept[kept.size() / 2].rate;  // an odd number of rounds
    rate.best = kept.back().rate;
    rate.by_globaltimer = kept.back().by_globaltimer;
    if (rate.by_globaltimer == 0) {
      notes.push_back(fmt::format("{}: the kernel's own stamps are missing, only events timed it", describe(pattern)));
    } else if (const double ratio = static_cast<double>(rate.by_globaltimer) / static_cast<double>(rate.best);
               std::abs(ratio - 1) > 0.02) {
      notes.push_back(
          fmt::format("{}: the GPU's timer gives {:.3f} times what its events give", describe(pattern), ratio));
    }
    if (rate.spread() > 0.05) {
      notes.push_back(
          fmt::format("{}: the rounds differ by {:.1f}%: something else used the GPU, or its clocks changed",
                      describe(pattern), 100 * rate.spread()));
    }
    if (kept.front().time < shortest_round) {
      notes.push_back(fmt::format("{}: a round took only {:.1f} ms", describe(pattern),
                                  static_cast<double>(kept.front().time.count()) / 1e6));
    }
  }

  // Of passes (or of random accesses): so many that a round takes long enough with any shape.
  Result<uint64_t> long_enough(DramPattern pattern) {
    // Bounded: the random kernel counts its accesses with 32 bits.
    const uint64_t most = pattern == DramPattern::random_sectors ? 0xffffffffull : 1'000'000;
    uint64_t amount = pattern == DramPattern::random_sectors ? 1ull << 24 : 2;
    for (int attempt = 0; attempt < 4; ++attempt) {
      const auto trial = round(pattern, {2, 512}, amount);
      if (!trial) {
        return std::unexpected(trial.error());
      }
      if (trial->time >= shortest_round || amount >= most) {
        return amount;
      }
      // Another shape may be faster than this one, hence a fifth more.
      const double factor = 1.2 * static_cast<double>(wanted_round.count()) /
                            static_cast<double>(std::max<int64_t>(trial->time.count(), 1000));
      amount = static_cast<uint64_t>(
          std::clamp(std::ceil(static_cast<double>(amount) * factor), 1.0, static_cast<double>(most)));
    }
    return amount;
  }

  [[nodiscard]] uint64_t bytes_moved(DramPattern pattern, uint64_t amount) const {
    switch (pattern) {
      case DramPattern::read:
      case DramPattern::write: return 3 * buffer_bytes_ * amount;
      case DramPattern::copy: return 2 * buffer_bytes_ * amount;
      case DramPattern::two_to_one: return 3 * buffer_bytes_ * amount;
      case DramPattern::random_sectors: return sector_bytes * amount;
    }
    return 0;
  }

  Result<void> launch(DramPattern pattern, LaunchShape shape, uint64_t amount) {
    const Function& function = functions_[static_cast<size_t>(pattern)];
    const uint64_t records = records_.device_address(), first = arena_.device_address();
    const uint64_t second = first + buffer_bytes_, third = second + buffer_bytes_;
    const uint64_t vectors = buffer_bytes_ / vector_bytes;
    switch (pattern) {
      case DramPattern::read:
      case DramPattern::write: return context_.launch(stream_, function, shape, records, first, 3 * vectors, amount);
      case DramPattern::copy: return context_.launch(stream_, function, shape, records, first, third, vectors, amount);
      case DramPattern::two_to_one:
        return context_.launch(stream_, function, shape, records, first, second, third, vectors, amount);
      case DramPattern::random_sectors:
        return context_.launch(stream_, function, shape, records, first, 3 * buffer_bytes_ / sector_bytes, amount,
                               ++seed_ * 0x9e3779b1ull);
    }
    return {};
  }

  Result<Round> round(DramPattern pattern, LaunchShape per_multiprocessor, uint64_t amount) {
    const LaunchShape shape{per_multiprocessor.blocks * context_.device().multiprocessors, per_multiprocessor.threads};
    std::ranges::fill(records_.as<PulseRecord>(), PulseRecord{});
    Result<void> done = context_.record(begin_, stream_);
    if (done) {
      done = launch(pattern, shape, amount);
    }
    if (done) {
      done = context_.record(end_, stream_);
    }
    if (!done) {
      return std::unexpected(done.error());
    }
    observer_.at_work();
    if (auto waited = context_.wait(stream_, round_limit); !waited) {
      return std::unexpected(waited.error());
    }
    const auto time = context_.elapsed(begin_, end_);
    if (!time) {
      return std::unexpected(time.error());
    }
    const uint64_t bytes = bytes_moved(pattern, amount);
    return Round{*time, per_second(bytes, *time), per_second(bytes, stamped_time(shape.blocks))};
  }

  // From the first block's entry to the last one's exit; 0 where one of them wrote nothing.
  [[nodiscard]] nanoseconds stamped_time(uint32_t blocks) const {
    const auto records = records_.as<const PulseRecord>().first(blocks);
    const auto first = std::ranges::min(records, {}, &PulseRecord::entry_ns).entry_ns;
    const auto last = std::ranges::max(records, {}, &PulseRecord::exit_ns).exit_ns;
    return nanoseconds(first == 0 || last <= first ? 0 : static_cast<int64_t>(last - first));
  }

  const Context& context_;
  const DramObserver& observer_;
  uint64_t buffer_bytes_;
  uint64_t seed_ = 0;
  DeviceBuffer arena_;  // three buffers, one behind the other
  MappedBuffer records_;
  Stream stream_;
  Event begin_, end_;
  std::array<Function, dram_patterns.size()> functions_;
};

Result<Bench> prepare(const Context& context, const DramObserver& observer, uint64_t buffer_bytes) {
  auto kernels = context.load(kernel_text());
  if (!kernels) {
    return std::unexpected(kernels.error());
  }
  std::array<Function, dram_patterns.size()> functions;
  for (const DramPattern pattern : dram_patterns) {
    auto function = kernels->function(kernel_name(pattern));
    if (!function) {
      return std::unexpected(function.error());
    }
    functions[static_cast<size_t>(pattern)] = *function;
  }
  uint32_t most_blocks = 0;
  for (const LaunchShape shape : shapes) {
    most_blocks = std::max(most_blocks, shape.blocks * context.device().multiprocessors);
  }
  auto arena = context.allocate(3 * buffer_bytes);
  auto records = context.allocate_mapped(most_blocks * sizeof(PulseRecord));
  auto stream = context.create_stream();
  auto begin = context.create_event(), end = context.create_event();
  const std::optional<Error> error = !arena     ? std::optional(arena.error())
                                     : !records ? std::optional(records.error())
                                     : !stream  ? std::optional(stream.error())
                                     : !begin   ? std::optional(begin.error())
                                     : !end     ? std::optional(end.error())
                                                : std::nullopt;
  if (error) {
    return std::unexpected(*error);
  }
  return Bench(context, observer, buffer_bytes, std::move(*arena), std::move(*records), std::move(*stream),
               std::move(*begin), std::move(*end), std::move(functions));
}

}  // namespace

const char* kernel_name(DramPattern pattern) {
  switch (pattern) {
    case DramPattern::read: return "kvet_dram_read";
    case DramPattern::write: return "kvet_dram_write";
    case DramPattern::copy: return "kvet_dram_copy";
    case DramPattern::two_to_one: return "kvet_dram_two_to_one";
    case DramPattern::random_sectors: return "kvet_dram_random";
  }
  return "";
}

const char* describe(DramPattern pattern) {
  switch (pattern) {
    case DramPattern::read: return "reads";
    case DramPattern::write: return "writes";
    case DramPattern::copy: return "1:1 reads and writes";
    case DramPattern::two_to_one: return "2:1 reads and writes";
    case DramPattern::random_sectors: return "random 32-byte sectors";
  }
  return "";
}

double DramRate::spread() const {
  return median == 0 ? 0 : static_cast<double>(best - lowest) / static_cast<double>(median);
}

uint64_t dram_buffer_bytes(uint64_t free_bytes, uint64_t l2_bytes) {
  const uint64_t least = caches_per_buffer * l2_bytes;
  const uint64_t wanted = std::max(2 * gibibyte, 2 * least);
  const uint64_t buffer = std::min(wanted, free_bytes / 2 / 3) / (2 * mebibyte) * (2 * mebibyte);
  return buffer < std::max(least, 64 * mebibyte) ? 0 : buffer;
}

Result<DramMeasurement> measure_dram(const Context& context, const DramObserver& observer) {
  const DeviceFacts& device = context.device();
  const auto memory = context.memory();
  if (!memory) {
    return std::unexpected(memory.error());
  }
  if (device.multiprocessors == 0 || device.l2_bytes == 0) {
    return fail(ErrorKind::unavailable, "the driver does not say how many multiprocessors or how large a cache it has",
                device.name);
  }
  DramMeasurement measured;
  measured.buffer_bytes = dram_buffer_bytes(memory->free_bytes, device.l2_bytes);
  if (measured.buffer_bytes == 0) {
    return fail(
        ErrorKind::unavailable,
        fmt::format("only {} MiB of its memory are free; three buffers of {} MiB each (20 times its L2 cache) are to "
                    "take at most half of that",
                    memory->free_bytes / mebibyte,
                    std::max(caches_per_buffer * device.l2_bytes / mebibyte, uint64_t{64})),
        device.name, "Stop what holds the memory (nvidia-smi lists it)");
  }
  if (measured.buffer_bytes < gibibyte) {
    measured.notes.push_back(
        fmt::format("the buffers are only {} MiB: memory is short", measured.buffer_bytes / mebibyte));
  }
  auto bench = prepare(context, observer, measured.buffer_bytes);
  if (!bench) {
    return std::unexpected(bench.error());
  }
  if (auto filled = bench->fill(); !filled) {
    return std::unexpected(filled.error());
  }
  for (const DramPattern pattern : dram_patterns) {
    auto rate = bench->measure(pattern, measured.notes);
    if (!rate) {
      return std::unexpected(rate.error());
    }
    measured.rates[static_cast<size_t>(pattern)] = *rate;
  }
  return measured;
}

}  // namespace kvet::gpu_work
