// The model against hand calculation: every expected time below follows from device/limits.h and the numbers in the test.
#include "device/engine.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace simcuda {
namespace {

struct Machine {
  explicit Machine(uint32_t devices = 1) : world(std::make_unique<World>()) {
    initialise(*world, devices, 1000);
    for (uint32_t i = 0; i < 4; ++i) {
      world->processes[i] =
          Process{.used = 1, .pid = 0, .wants_completions = 1, .done_head = none, .done_tail = none, .pending = 0};
    }
  }
  uint32_t stream(uint32_t device = 0, int32_t priority = 0, uint32_t process = 0) {
    Stream wanted{};
    wanted.process = process;
    wanted.device = device;
    wanted.priority = priority;
    return create_stream(*world, wanted);
  }
  uint32_t kernel(uint32_t stream, uint32_t blocks, uint32_t threads, double duration_ns, double bytes_per_block = 0,
                  uint32_t registers = 32) {
    uint32_t index = allocate_operation(*world);
    Operation& operation = world->operations[index];
    operation.kind = OperationKind::kernel;
    operation.stream = stream;
    operation.cost = block_resources(threads, registers, 0, 0);
    operation.cost.duration_ns = duration_ns;
    operation.cost.read_bytes = bytes_per_block;
    operation.blocks_total = blocks;
    submit(*world, index);
    return index;
  }
  uint32_t other(uint32_t stream, OperationKind kind, uint32_t event = 0, uint64_t sequence = 0) {
    uint32_t index = allocate_operation(*world);
    Operation& operation = world->operations[index];
    operation.kind = kind;
    operation.stream = stream;
    operation.event = event;
    operation.event_sequence = sequence;
    submit(*world, index);
    return index;
  }
  const Operation& at(uint32_t index) const { return world->operations[index]; }
  std::unique_ptr<World> world;
};

TEST(Engine, OneWaveLastsAsLongAsABlock) {
  Machine machine;
  uint32_t kernel = machine.kernel(machine.stream(), 132, 256, 10000);
  advance(*machine.world, 50000);
  EXPECT_EQ(machine.at(kernel).start_ns, 1000 + 3000);
  EXPECT_EQ(machine.at(kernel).end_ns, 1000 + 3000 + 10000);
}

TEST(Engine, WavesFollowOccupancy) {
  // 256 threads are 8 warps: 8 blocks fill the 64 warp slots, 132 × 8 blocks are one wave, and one block more is another.
  Machine machine;
  uint32_t stream = machine.stream();
  uint32_t full = machine.kernel(stream, 132 * 8, 256, 10000);
  uint32_t tail = machine.kernel(stream, 132 * 8 + 1, 256, 10000);
  advance(*machine.world, 100000);
  EXPECT_EQ(machine.at(full).end_ns - machine.at(full).start_ns, 10000);
  EXPECT_EQ(machine.at(tail).end_ns - machine.at(tail).start_ns, 20000);
  EXPECT_EQ(machine.at(tail).start_ns, machine.at(full).end_ns + stream_gap_ns);
}

TEST(Engine, ResourcesRoundAsTheProgrammingGuideSays) {
  // 128 registers per thread × 256 threads = 32768 registers: two blocks on an SM; 129 round up to 136: one.
  EXPECT_EQ(blocks_that_fit(block_resources(256, 128, 0, 0)), 2u);
  EXPECT_EQ(blocks_that_fit(block_resources(256, 129, 0, 0)), 1u);
  // 100 KiB + 1 KiB reserved: two blocks in 228 KiB. 113 KiB + 1: exactly two. 113.125 KiB: one.
  EXPECT_EQ(blocks_that_fit(block_resources(32, 16, 0, 100 * 1024)), 2u);
  EXPECT_EQ(blocks_that_fit(block_resources(32, 16, 1024, 112 * 1024)), 2u);
  EXPECT_EQ(blocks_that_fit(block_resources(32, 16, 1024, 112 * 1024 + 128)), 1u);
  EXPECT_EQ(blocks_that_fit(block_resources(33, 16, 0, 0)), 32u);  // the block slots
  EXPECT_EQ(blocks_that_fit(block_resources(1024, 32, 0, 0)), 2u);  // the warp slots
}

TEST(Engine, OverlappingKernelsShareBandwidth) {
  // Each alone would use all of the bandwidth for 10 µs. B begins 5 µs after A: A has 5 µs left, which take 10 at half
  // speed; by then B has done 5 of its 10, which then take 5. A: 5 + 10, B: 10 + 5.
  Machine machine;
  double bytes_per_block = dram_bytes_per_ns * 10000 / 132;
  uint32_t a = machine.kernel(machine.stream(), 132, 128, 10000, bytes_per_block);
  uint32_t second = machine.stream();
  advance(*machine.world, 1000 + 5000);
  uint32_t b = machine.kernel(second, 132, 128, 10000, bytes_per_block);
  uint32_t c = machine.kernel(machine.stream(), 132, 128, 12000);  // moves nothing: not slowed
  advance(*machine.world, 100000);
  EXPECT_EQ(machine.at(a).start_ns, 4000);
  EXPECT_EQ(machine.at(a).end_ns, 4000 + 15000);
  EXPECT_EQ(machine.at(b).start_ns, 9000);
  EXPECT_EQ(machine.at(b).end_ns, 9000 + 15000);
  EXPECT_EQ(machine.at(c).end_ns - machine.at(c).start_ns, 12000);
}

TEST(Engine, RegistersKeepKernelsApart) {
  // A holds 40960 of an SM's 65536 registers everywhere (5 warps × 256 × 32), B needs as many: B waits, C behind B waits too (leftover policy),
  // although C would fit.
  Machine machine;
  uint32_t a = machine.kernel(machine.stream(), 132, 160, 10000, 0, 255);
  uint32_t b = machine.kernel(machine.stream(), 132, 160, 10000, 0, 255);
  uint32_t c = machine.kernel(machine.stream(), 132, 32, 1000, 0, 16);
  advance(*machine.world, 100000);
  EXPECT_EQ(machine.at(a).start_ns, 4000);
  EXPECT_EQ(machine.at(b).start_ns, 14000);
  EXPECT_EQ(machine.at(c).start_ns, 14000);
}

TEST(Engine, PriorityGoesFirst) {
  Machine machine;
  machine.kernel(machine.stream(), 132 * 2, 1024, 10000);  // fills the device from 4000 to 14000
  advance(*machine.world, 2000);
  uint32_t low = machine.kernel(machine.stream(0, 0), 132 * 2, 1024, 10000);
  uint32_t high = machine.kernel(machine.stream(0, -5), 132 * 2, 1024, 10000);
  advance(*machine.world, 100000);
  EXPECT_EQ(machine.at(high).start_ns, 14000);
  EXPECT_EQ(machine.at(low).start_ns, 24000);
}

TEST(Engine, EventsOrderStreams) {
  Machine machine;
  uint32_t first = machine.stream(), second = machine.stream();
  uint32_t a = machine.kernel(first, 132, 128, 50000);
  machine.other(first, OperationKind::event_record, 3, 1);
  machine.other(second, OperationKind::event_wait, 3, 1);
  uint32_t b = machine.kernel(second, 132, 128, 1000);
  advance(*machine.world, 200000);
  EXPECT_EQ(machine.at(a).end_ns, 54000);
  EXPECT_EQ(machine.world->events[3].time_ns, 54000);
  EXPECT_EQ(machine.at(b).start_ns, 54000 + stream_gap_ns);
}

TEST(Engine, CollectivesEndTogetherAfterTheLatest) {
  Machine machine(2);
  Communicator& communicator = machine.world->communicators[0];
  communicator.used = 1;
  communicator.ranks = 2;
  auto collective = [&](uint32_t stream, uint32_t rank) {
    uint32_t index = allocate_operation(*machine.world);
    Operation& operation = machine.world->operations[index];
    operation.kind = OperationKind::kernel;
    operation.stream = stream;
    operation.cost = block_resources(512, 96, 0, 0);
    operation.blocks_total = 16;
    operation.is_collective = 1;
    operation.communicator = 0;
    operation.rank = rank;
    operation.transfer_ns = 20000;
    submit(*machine.world, index);
    return index;
  };
  uint32_t early = collective(machine.stream(0, 0, 0), 0);
  uint32_t late_stream = machine.stream(1, 0, 1);
  advance(*machine.world, 101000);
  uint32_t late = collective(late_stream, 1);
  advance(*machine.world, 300000);
  EXPECT_EQ(machine.at(early).start_ns, 4000);
  EXPECT_EQ(machine.at(late).start_ns, 104000);
  EXPECT_EQ(machine.at(early).end_ns, 124000);
  EXPECT_EQ(machine.at(late).end_ns, 124000);
  EXPECT_EQ(machine.at(early).latest_arrival_ns, 104000);
}

TEST(Engine, CopiesTakeTurnsOnTheirEngine) {
  Machine machine;
  std::vector<uint32_t> copies;
  for (int i = 0; i < 2; ++i) {
    uint32_t index = allocate_operation(*machine.world);
    machine.world->operations[index].kind = OperationKind::copy;
    machine.world->operations[index].direction = CopyDirection::host_to_device;
    machine.world->operations[index].stream = machine.stream();
    machine.world->operations[index].bytes = 5'000'000;  // 100 µs at 50 B/ns
    submit(*machine.world, index);
    copies.push_back(index);
  }
  advance(*machine.world, 1'000'000);
  EXPECT_EQ(machine.at(copies[0]).start_ns, 4000);
  EXPECT_EQ(machine.at(copies[0]).end_ns, 104001);
  EXPECT_EQ(machine.at(copies[1]).start_ns, 104001);
  EXPECT_EQ(machine.at(copies[1]).end_ns, 204002);
}

TEST(Engine, HistoryIntegratesWhatRan) {
  Machine machine;
  machine.kernel(machine.stream(), 264, 256, 10000, 1000);  // 2 blocks of 8 warps on each SM, 264,000 bytes
  advance(*machine.world, 50000);
  Totals whole = totals(*machine.world, 0, 0, 50000);
  EXPECT_DOUBLE_EQ(whole.warp_ns, 264.0 * 8 * 10000);
  EXPECT_DOUBLE_EQ(whole.register_ns, 264.0 * 8 * 32 * 32 * 10000);
  EXPECT_DOUBLE_EQ(whole.warps_fullest_ns, 16.0 * 10000);
  EXPECT_DOUBLE_EQ(whole.active_multiprocessor_ns, 132.0 * 10000);
  EXPECT_NEAR(whole.read_bytes, 264000, 1e-6);
  EXPECT_EQ(whole.warps_launched, 264.0 * 8);
  EXPECT_EQ(whole.blocks_completed, 264);
  Totals part = totals(*machine.world, 0, 9000, 9500);  // the kernel runs from 4000 to 14000
  EXPECT_DOUBLE_EQ(part.warp_ns, 264.0 * 8 * 500);
  EXPECT_EQ(part.blocks_completed, 0);
}

// The same submissions, once with time advanced in one go and once in small odd steps, must give the same execution: the
// model may not depend on who looks when. And what is resident never exceeds a multiprocessor.
TEST(Engine, DoesNotDependOnWhoLooks) {
  struct Plan {
    int64_t at_ns;
    uint32_t stream, blocks, threads, registers;
    double duration_ns, bytes;
  };
  std::mt19937_64 random(7);
  std::vector<Plan> plans;
  int64_t at_ns = 2000;
  for (int i = 0; i < 2000; ++i) {
    at_ns += static_cast<int64_t>(random() % 9000);
    plans.push_back({at_ns, static_cast<uint32_t>(random() % 4), 1 + static_cast<uint32_t>(random() % 3000),
                     32 * (1 + static_cast<uint32_t>(random() % 16)), 16 + static_cast<uint32_t>(random() % 100),
                     500.0 + static_cast<double>(random() % 20000), static_cast<double>(random() % 400000)});
  }
  auto run = [&](int64_t step_ns) {
    Machine machine;
    uint32_t streams[4] = {machine.stream(), machine.stream(), machine.stream(0, -1), machine.stream()};
    std::vector<uint32_t> indices;
    for (const Plan& plan : plans) {
      for (int64_t t = machine.world->now_ns; step_ns > 0 && t < plan.at_ns; t += step_ns) {
        advance(*machine.world, t);
      }
      advance(*machine.world, plan.at_ns);
      indices.push_back(machine.kernel(streams[plan.stream], plan.blocks, plan.threads, plan.duration_ns, plan.bytes,
                                       plan.registers));
      for (const Multiprocessor& unit : machine.world->devices[0].multiprocessor) {
        EXPECT_LE(unit.warps, warps_per_multiprocessor);
        EXPECT_LE(unit.registers, registers_per_multiprocessor);
      }
    }
    advance(*machine.world, at_ns + 1'000'000'000'000);
    std::vector<std::pair<int64_t, int64_t>> times;
    for (uint32_t index : indices) {
      EXPECT_EQ(machine.at(index).state, OperationState::done);
      times.emplace_back(machine.at(index).start_ns, machine.at(index).end_ns);
    }
    EXPECT_EQ(machine.world->devices[0].multiprocessor[0].warps, 0u);
    EXPECT_EQ(machine.world->devices[0].cohort_count, 0u);
    return times;
  };
  auto once = run(0);
  EXPECT_EQ(once, run(37));
  EXPECT_EQ(once, run(50011));
}

TEST(Engine, AProcessThatIsGoneLeavesNothingBehind) {
  Machine machine;
  uint32_t before = machine.world->free_operations;
  machine.kernel(machine.stream(), 132, 128, 1e9);
  uint32_t stays_stream = machine.stream(0, 0, 1);
  uint32_t stays = machine.kernel(stays_stream, 132 * 16, 128, 10000);
  advance(*machine.world, 10000);
  remove_process(*machine.world, 0);
  EXPECT_EQ(machine.world->free_operations, before - 1);
  advance(*machine.world, 100000);
  EXPECT_EQ(machine.at(stays).state, OperationState::done);
  EXPECT_EQ(machine.world->devices[0].multiprocessor[0].warps, 0u);
}

}  // namespace
}  // namespace simcuda
