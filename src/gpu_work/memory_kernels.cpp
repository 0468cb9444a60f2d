// The kernels that ask how much the DRAM gives. All are alike: a thread goes over every stride-th vector, so that a warp touches
// 512 contiguous bytes and the whole grid moves over memory as one front; several loads are in flight per thread before the
// first is used; what was read is folded into a value that decides on a store, so that no load can be left out.
#include <fmt/core.h>

#include <string_view>

#include "gpu_work/kernel_parts.h"

namespace kvet::gpu_work {
namespace {

// "@" becomes 0, 1, …, times - 1.
std::string repeat(int times, std::string_view text) {
  std::string all;
  for (int i = 0; i < times; ++i) {
    for (const char c : text) {
      if (c == '@') {
        all += std::to_string(i);
      } else {
        all += c;
      }
    }
  }
  return all;
}

// Where this thread begins and how far it steps; the block's entry time. Two blocks of 512 threads per multiprocessor leave 64
// registers per thread, room for eight vectors; with 1024 threads per block, ptxas keeps to 32 registers and four vectors.
constexpr const char* prologue = R"(.maxntid 512, 1, 1
.minnctapersm 2
{
  .reg .pred %done, %more, %first;
  .reg .u32 %thread, %block, %threads, %blocks, %sm, %sum, %x<40>;
  .reg .u64 %entry, %exit, %records, %record, %start, %stride, %width, %step, %wide, %last, %i, %n, %passes, %t;
  .reg .u64 %first_from, %second_from, %to, %a, %b, %c;

  mov.u64 %entry, %globaltimer;
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %blocks, %nctaid.x;
  mul.wide.u32 %start, %block, %threads;
  cvt.u64.u32 %t, %thread;
  add.u64 %start, %start, %t;
  mul.wide.u32 %stride, %blocks, %threads;
  ld.param.u64 %records, [records];
  mul.wide.u32 %record, %block, 32;
  add.u64 %record, %records, %record;
  mov.u32 %sum, 0;
)";

// The fold decides on a store that practically never happens (and does no harm); then, with every thread of the block done, the
// first one writes the block's record.
constexpr const char* epilogue = R"(
finish:
  setp.eq.u32 %more, %sum, 0x5eed1e55;
  @%more st.global.u64 [%record+24], %i;
  membar.gl;
  bar.sync 0;
  mov.u64 %exit, %globaltimer;
  setp.eq.u32 %first, %thread, 0;
  @!%first bra out;
  mov.u32 %sm, %smid;
  st.global.u64 [%record], %entry;
  st.global.u64 [%record+8], %exit;
  st.global.u32 [%record+16], %sm;
out:
  ret;
}
)";

// What is the same in every kernel that goes over vectors: passes, a loop of `unroll` vectors at a time, and the rest one by one.
// `addresses` sets %a, %b, %c from %t, the offset of the thread's first vector; `advance` moves them by %step.
std::string sweep(int unroll, const std::string& parameters, std::string_view addresses, const std::string& many,
                  const std::string& one) {
  std::string text = parameters;
  text += R"(
  ld.param.u64 %n, [vectors];
  ld.param.u64 %passes, [passes];
  shl.b64 %step, %stride, 4;
  mul.lo.u64 %wide, %stride, )";
  text += std::to_string(unroll - 1);
  text += R"(;
pass:
  mov.u64 %i, %start;
  shl.b64 %t, %start, 4;
)";
  text += addresses;
  text += R"(
several:
  add.u64 %last, %i, %wide;
  setp.ge.u64 %done, %last, %n;
  @%done bra single;
)";
  text += many;
  text += R"(
  add.u64 %i, %last, %stride;
  bra several;
single:
  setp.ge.u64 %done, %i, %n;
  @%done bra end_of_pass;
)";
  text += one;
  text += R"(
  add.u64 %i, %i, %stride;
  bra single;
end_of_pass:
  sub.u64 %passes, %passes, 1;
  setp.ne.u64 %more, %passes, 0;
  @%more bra pass;
)";
  return text;
}

// Vector K of eight lies in %xK, %x1K, %x2K and %x3K.
constexpr const char* vector = "{%x@, %x1@, %x2@, %x3@}";

constexpr const char* read_first = "  ld.param.u64 %first_from, [source];\n";
constexpr const char* write_to = "  ld.param.u64 %to, [target];\n";

std::string load(const char* address) {
  return std::string("  ld.global.nc.v4.u32 ") + vector + ", [" + address + "];\n  add.u64 " + address + ", " +
         address + ", %step;\n";
}
std::string store(const char* address) {
  return std::string("  st.global.v4.u32 [") + address + "], " + vector + ";\n  add.u64 " + address + ", " + address +
         ", %step;\n";
}
constexpr const char* fold =
    "  xor.b32 %sum, %sum, %x@;\n  xor.b32 %sum, %sum, %x1@;\n  xor.b32 %sum, %sum, %x2@;\n  xor.b32 %sum, %sum, "
    "%x3@;\n";

// A read takes a vector's worth of time at a block; the stand-in's figures only keep the memory the limit.
std::string read_kernel() {
  return std::string(R"(
//simcuda kvet_dram_read registers=64 block_ns=0.1 read=16 write=0 work=2,3 records=0
.visible .entry kvet_dram_read(.param .u64 records, .param .u64 source, .param .u64 vectors, .param .u64 passes)
)") + prologue +
         sweep(8, read_first, "  add.u64 %a, %first_from, %t;\n", repeat(8, load("%a")) + repeat(8, fold),
               repeat(1, load("%a") + fold)) +
         epilogue;
}

// What is written differs from vector to vector: constant data would let links and cells rest.
std::string write_kernel() {
  const std::string value =
      "  cvt.u32.u64 %x@, %i;\n  mul.lo.u32 %x@, %x@, 0x9e3779b1;\n  add.u32 %x@, %x@, @;\n"
      "  not.b32 %x1@, %x@;\n  xor.b32 %x2@, %x@, 0x5a5a5a5a;\n  shl.b32 %x3@, %x@, 3;\n";
  return std::string(R"(
//simcuda kvet_dram_write registers=64 block_ns=0.1 read=0 write=16 work=2,3 records=0
.visible .entry kvet_dram_write(.param .u64 records, .param .u64 target, .param .u64 vectors, .param .u64 passes)
)") + prologue +
         sweep(8, write_to, "  add.u64 %a, %to, %t;\n", repeat(8, value + store("%a")),
               repeat(1, value + store("%a"))) +
         epilogue;
}

std::string copy_kernel() {
  return std::string(R"(
//simcuda kvet_dram_copy registers=64 block_ns=0.1 read=16 write=16 work=3,4 records=0
.visible .entry kvet_dram_copy(.param .u64 records, .param .u64 source, .param .u64 target, .param .u64 vectors, .param .u64 passes)
)") + prologue +
         sweep(8, std::string(read_first) + write_to, "  add.u64 %a, %first_from, %t;\n  add.u64 %b, %to, %t;\n",
               repeat(8, load("%a")) + repeat(8, store("%b")), repeat(1, load("%a") + store("%b"))) +
         epilogue;
}

// Vectors 0 to 3 come from the first source, 4 to 7 from the second; what is written is their sum without carries.
std::string two_to_one_kernel() {
  std::string loads, combined, stores;
  for (int i = 0; i < 4; ++i) {
    const int first = i, second = i + 4;
    loads += fmt::format("  ld.global.nc.v4.u32 {{%x{0}, %x1{0}, %x2{0}, %x3{0}}}, [%a];\n  add.u64 %a, %a, %step;\n",
                         first);
    loads += fmt::format("  ld.global.nc.v4.u32 {{%x{0}, %x1{0}, %x2{0}, %x3{0}}}, [%b];\n  add.u64 %b, %b, %step;\n",
                         second);
    for (const char* part : {"", "1", "2", "3"}) {
      combined += fmt::format("  xor.b32 %x{0}{1}, %x{0}{1}, %x{0}{2};\n", part, first, second);
    }
    stores +=
        fmt::format("  st.global.v4.u32 [%c], {{%x{0}, %x1{0}, %x2{0}, %x3{0}}};\n  add.u64 %c, %c, %step;\n", first);
  }
  const std::string one =
      "  ld.global.nc.v4.u32 {%x0, %x10, %x20, %x30}, [%a];\n  ld.global.nc.v4.u32 {%x1, %x11, %x21, %x31}, [%b];\n"
      "  xor.b32 %x0, %x0, %x1;\n  xor.b32 %x10, %x10, %x11;\n  xor.b32 %x20, %x20, %x21;\n  xor.b32 %x30, %x30, "
      "%x31;\n"
      "  st.global.v4.u32 [%c], {%x0, %x10, %x20, %x30};\n"
      "  add.u64 %a, %a, %step;\n  add.u64 %b, %b, %step;\n  add.u64 %c, %c, %step;\n";
  return std::string(R"(
//simcuda kvet_dram_two_to_one registers=64 block_ns=0.1 read=32 write=16 work=4,5 records=0
.visible .entry kvet_dram_two_to_one(.param .u64 records, .param .u64 first, .param .u64 second, .param .u64 target, .param .u64 vectors, .param .u64 passes)
)") + prologue +
         sweep(4,
               std::string("  ld.param.u64 %first_from, [first];\n  ld.param.u64 %second_from, [second];\n") + write_to,
               "  add.u64 %a, %first_from, %t;\n  add.u64 %b, %second_from, %t;\n  add.u64 %c, %to, %t;\n",
               loads + combined + stores, one) +
         epilogue;
}

// Two neighbouring threads read the two halves of one sector, so a warp's load touches 16 sectors. Which: the access's number
// through the finaliser of MurmurHash3 (Austin Appleby, public domain: a bijection of 32 bits), scaled to the number of sectors.
// HBM moves 64 bytes at least, which the stand-in counts.
std::string random_kernel() {
  const std::string one = R"(
  cvt.u32.u64 %x@, %i;
  xor.b32 %x@, %x@, %x38;
  shr.u32 %x1@, %x@, 16;
  xor.b32 %x@, %x@, %x1@;
  mul.lo.u32 %x@, %x@, 0x85ebca6b;
  shr.u32 %x1@, %x@, 13;
  xor.b32 %x@, %x@, %x1@;
  mul.lo.u32 %x@, %x@, 0xc2b2ae35;
  shr.u32 %x1@, %x@, 16;
  xor.b32 %x@, %x@, %x1@;
  mul.wide.u32 %a, %x@, %x39;
  shr.u64 %a, %a, 32;
  shl.b64 %a, %a, 5;
  add.u64 %a, %a, %first_from;
  ld.global.nc.v4.u32 {%x@, %x1@, %x2@, %x3@}, [%a];
  add.u64 %i, %i, %stride;
)";
  return std::string(R"(
//simcuda kvet_dram_random registers=64 block_ns=0.4 read=64 write=0 work=3 records=0
.visible .entry kvet_dram_random(.param .u64 records, .param .u64 source, .param .u64 sectors, .param .u64 accesses, .param .u64 seed)
)") + prologue +
         R"(
  ld.param.u64 %first_from, [source];
  ld.param.u64 %t, [sectors];
  cvt.u32.u64 %x39, %t;
  ld.param.u64 %n, [accesses];
  ld.param.u64 %t, [seed];
  cvt.u32.u64 %x38, %t;
  and.b64 %t, %start, 1;
  shl.b64 %t, %t, 4;
  add.u64 %first_from, %first_from, %t;
  shr.u64 %i, %start, 1;
  shr.u64 %stride, %stride, 1;
  mul.lo.u64 %wide, %stride, 7;
several:
  add.u64 %last, %i, %wide;
  setp.ge.u64 %done, %last, %n;
  @%done bra single;
)" + repeat(8, one) +
         repeat(8, fold) + R"(
  bra several;
single:
  setp.ge.u64 %done, %i, %n;
  @%done bra finish;
)" + repeat(1, one + fold) +
         R"(
  bra single;
)" + epilogue;
}

}  // namespace

std::string memory_kernel_text() {
  return read_kernel() + write_kernel() + copy_kernel() + two_to_one_kernel() + random_kernel();
}

}  // namespace kvet::gpu_work
