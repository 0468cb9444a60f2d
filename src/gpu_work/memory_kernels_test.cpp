// Runs kvet's kernels on the CPU, thread by thread, and looks at what they touch.
#include <gtest/gtest.h>

#include <initializer_list>
#include <map>

#include "gpu_work/kernels.h"
#include "gpu_work/ptx_interpreter.h"

namespace kvet::gpu_work {
namespace {

constexpr uint64_t records = 0x1000, first = 0x100000, second = 0x200000, third = 0x300000;
constexpr uint32_t blocks = 3, threads = 32;

// Every thread of the grid, one behind the other.
PtxMemory run(const std::string& kernel, const std::vector<uint64_t>& arguments, PtxMemory memory = {}) {
  const PtxThread prepared(kernel_text(), kernel, arguments);
  for (uint32_t block = 0; block < blocks; ++block) {
    for (uint32_t thread = 0; thread < threads; ++thread) {
      PtxThread one = prepared;
      one.set("%tid.x", thread);
      one.set("%ntid.x", threads);
      one.set("%ctaid.x", block);
      one.set("%nctaid.x", blocks);
      one.set("%smid", 10 + block);
      one.timer = 1000 * (1 + block);
      one.run(memory);
    }
  }
  return memory;
}

PtxMemory filled(uint64_t vectors) {
  PtxMemory memory;
  for (uint64_t word = 0; word < 4 * vectors; ++word) {
    memory.words[first + 4 * word] = static_cast<uint32_t>(3 * word + 1);
    memory.words[second + 4 * word] = static_cast<uint32_t>(1000 * word + 7);
  }
  return memory;
}

// Each of the words of `vectors` vectors from `base` exactly `times` times, and nothing else but the blocks' records.
void expect_each(const std::map<uint64_t, uint32_t>& counts, std::initializer_list<uint64_t> bases, uint64_t vectors,
                 uint32_t times) {
  size_t expected = 0;
  for (const uint64_t base : bases) {
    for (uint64_t word = 0; word < 4 * vectors; ++word, ++expected) {
      const auto found = counts.find(base + 4 * word);
      ASSERT_TRUE(found != counts.end() && found->second == times) << std::hex << base << " word " << std::dec << word;
    }
  }
  size_t others = 0;
  for (const auto& [address, count] : counts) {
    others += address >= first ? 1 : 0;
  }
  EXPECT_EQ(others, expected) << "words outside";
}

// 96 threads, eight at a time: fewer vectors than threads, exactly one round of eight, and rests of every kind.
constexpr uint64_t amounts[] = {1, 50, 768, 1537};

TEST(MemoryKernels, ReadEveryVectorOncePerPass) {
  for (const uint64_t vectors : amounts) {
    const PtxMemory memory = run("kvet_dram_read", {records, first, vectors, 3});
    expect_each(memory.loads, {first}, vectors, 3);
    expect_each(memory.stores, {}, 0, 0);
  }
}

TEST(MemoryKernels, WriteEveryVectorOncePerPassAndEachAnother) {
  for (const uint64_t vectors : amounts) {
    const PtxMemory memory = run("kvet_dram_write", {records, first, vectors, 2});
    expect_each(memory.stores, {first}, vectors, 2);
    expect_each(memory.loads, {}, 0, 0);
  }
  const PtxMemory memory = run("kvet_dram_write", {records, first, 1000, 1});
  std::map<uint32_t, int> seen;
  for (uint64_t vector = 0; vector < 1000; ++vector) {
    ++seen[memory.words.at(first + 16 * vector)];
  }
  EXPECT_GT(seen.size(), 900U) << "what is written differs";
}

TEST(MemoryKernels, CopyWhatTheyRead) {
  for (const uint64_t vectors : amounts) {
    const PtxMemory memory = run("kvet_dram_copy", {records, first, third, vectors, 2}, filled(vectors));
    expect_each(memory.loads, {first}, vectors, 2);
    expect_each(memory.stores, {third}, vectors, 2);
    for (uint64_t word = 0; word < 4 * vectors; ++word) {
      ASSERT_EQ(memory.words.at(third + 4 * word), 3 * word + 1);
    }
  }
}

TEST(MemoryKernels, ReadTwiceAsMuchAsTheyWrite) {
  for (const uint64_t vectors : amounts) {
    const PtxMemory memory = run("kvet_dram_two_to_one", {records, first, second, third, vectors, 2}, filled(vectors));
    expect_each(memory.loads, {first, second}, vectors, 2);
    expect_each(memory.stores, {third}, vectors, 2);
    for (uint64_t word = 0; word < 4 * vectors; ++word) {
      ASSERT_EQ(memory.words.at(third + 4 * word), static_cast<uint32_t>((3 * word + 1) ^ (1000 * word + 7)));
    }
  }
}

// 48 pairs of threads. Each access is one whole sector, and which is spread evenly.
TEST(MemoryKernels, ReadRandomSectorsWhole) {
  constexpr uint64_t sectors = 64, accesses = 10'000;
  const PtxMemory memory = run("kvet_dram_random", {records, first, sectors, accesses, 0x9e3779b1});
  uint64_t total = 0;
  for (uint64_t sector = 0; sector < sectors; ++sector) {
    const uint32_t count = memory.loads.count(first + 32 * sector) == 0 ? 0 : memory.loads.at(first + 32 * sector);
    total += count;
    // 156 on average, with a deviation of 12.4: five of them.
    EXPECT_NEAR(count, accesses / static_cast<double>(sectors), 62) << sector;
    for (uint64_t word = 1; word < 8; ++word) {
      ASSERT_EQ(memory.loads.at(first + 32 * sector + 4 * word), count) << "a part of a sector";
    }
  }
  EXPECT_EQ(total, accesses);
  EXPECT_EQ(memory.loads.upper_bound(first + 32 * sectors - 1), memory.loads.end()) << "outside";
  EXPECT_NE(memory.loads, run("kvet_dram_random", {records, first, sectors, accesses, 0x3c6ef362}).loads)
      << "another seed";
}

TEST(MemoryKernels, StampEveryBlock) {
  PtxMemory memory = run("kvet_dram_read", {records, first, 100, 1});
  for (uint64_t block = 0; block < blocks; ++block) {
    const uint64_t record = records + sizeof(PulseRecord) * block;
    EXPECT_EQ(memory.load(record, 8), 1000 * (1 + block));
    EXPECT_GT(memory.load(record + 8, 8), memory.load(record, 8));
    EXPECT_EQ(memory.load(record + 16, 4), 10 + block);
  }
}

TEST(Pulse, LastsAsLongAsItWasAskedTo) {
  PtxMemory memory = run("kvet_pulse", {records, 500});
  for (uint64_t block = 0; block < blocks; ++block) {
    const uint64_t record = records + sizeof(PulseRecord) * block;
    // The interpreter's timer moves by 1 ns with each reading.
    EXPECT_EQ(memory.load(record, 8), 1000 * (1 + block));
    EXPECT_EQ(memory.load(record + 8, 8), 1000 * (1 + block) + 500);
    EXPECT_EQ(memory.load(record + 16, 4), 10 + block);
    EXPECT_EQ(memory.load(record + 20, 4), 500U);
  }
}

TEST(Handshake, AnswersEachRoundWithItsTimeAndGivesUp) {
  constexpr uint64_t page = 0x100000;
  PtxMemory asked;
  asked.words[page] = 2;  // the host is at round 2 already, and never gets to 3
  const auto one = [&](uint64_t rounds, uint64_t give_up_ns, PtxMemory memory) {
    PtxThread thread(kernel_text(), "kvet_handshake", {page, rounds, 0, give_up_ns});
    thread.set("%tid.x", 0);
    thread.run(memory);
    return memory;
  };
  PtxMemory two = one(2, 1000, asked);
  EXPECT_EQ(two.load(page + 128, 8), 2U);
  EXPECT_EQ(two.load(page + 256, 8), 1001U);  // 1000: its start
  EXPECT_EQ(two.load(page + 264, 8), 1002U);
  PtxMemory three = one(3, 1000, asked);
  EXPECT_EQ(three.load(page + 128, 8), handshake_over);
  EXPECT_EQ(three.load(page + 264, 8), 1002U);
  asked.words[page] = asked.words[page + 4] = 0xffffffff;
  EXPECT_EQ(one(2, 1000, asked).load(page + 128, 8), handshake_over) << "the host ended it";
}

}  // namespace
}  // namespace kvet::gpu_work
