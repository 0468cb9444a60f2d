#include "gpu_work/kernels.h"

#include "gpu_work/kernel_parts.h"

namespace kvet::gpu_work {
namespace {

// PTX 6.0 and sm_70: the oldest that have the memory-order instructions below; any later driver compiles it for any later GPU.
constexpr const char* module_header = R"(.version 6.0
.target sm_70
.address_size 64
)";

// All threads but the first leave at once; the block stays for the first. The count of polls bounds the loop where the timer
// stands still: a poll takes longer than a nanosecond, so that duration_ns + 65536 polls never end a healthy pulse early.
constexpr const char* pulse = R"(
//simcuda kvet_pulse argument_ns=1 records=0
.visible .entry kvet_pulse(.param .u64 records, .param .u64 duration_ns)
{
  .reg .pred %other, %over;
  .reg .u32 %thread, %block, %sm, %shown;
  .reg .u64 %entry, %now, %spent, %duration, %records, %record, %polls, %most;

  mov.u64 %entry, %globaltimer;
  mov.u32 %thread, %tid.x;
  setp.ne.u32 %other, %thread, 0;
  @%other bra out;
  ld.param.u64 %records, [records];
  ld.param.u64 %duration, [duration_ns];
  add.u64 %most, %duration, 65536;
  mov.u64 %polls, 0;
spin:
  mov.u64 %now, %globaltimer;
  add.u64 %polls, %polls, 1;
  sub.u64 %spent, %now, %entry;
  setp.ge.u64 %over, %spent, %duration;
  @%over bra write;
  setp.lt.u64 %over, %polls, %most;
  @%over bra spin;
write:
  mov.u32 %block, %ctaid.x;
  mov.u32 %sm, %smid;
  cvt.u32.u64 %shown, %polls;
  mul.wide.u32 %record, %block, 32;
  add.u64 %record, %records, %record;
  st.global.u64 [%record], %entry;
  st.global.u64 [%record+8], %now;
  st.global.u32 [%record+16], %sm;
  st.global.u32 [%record+20], %shown;
out:
  ret;
}
)";

// Acquire and release at system scope: the host's word is seen fresh on every look, and the time is there before the answer.
// The time is read after the look that saw the question, so it lies between the host's question and the host's sight of the
// answer. The poll bound is for a timer that stands still.
constexpr const char* handshake = R"(
//simcuda kvet_handshake handshake=0
.visible .entry kvet_handshake(.param .u64 page, .param .u32 rounds, .param .u32 reserved, .param .u64 give_up_ns)
{
  .reg .pred %other, %asked, %over;
  .reg .u32 %thread, %rounds32;
  .reg .u64 %start, %now, %spent, %limit, %page, %slot, %round, %rounds, %word, %polls, %most;

  mov.u64 %start, %globaltimer;
  mov.u32 %thread, %tid.x;
  setp.ne.u32 %other, %thread, 0;
  @%other bra out;
  ld.param.u64 %page, [page];
  ld.param.u32 %rounds32, [rounds];
  ld.param.u64 %limit, [give_up_ns];
  cvt.u64.u32 %rounds, %rounds32;
  add.u64 %slot, %page, 256;
  add.u64 %most, %limit, 65536;
  mov.u64 %polls, 0;
  mov.u64 %round, 1;
next:
  setp.gt.u64 %over, %round, %rounds;
  @%over bra out;
look:
  ld.acquire.sys.global.u64 %word, [%page];
  mov.u64 %now, %globaltimer;
  setp.eq.u64 %over, %word, 0xffffffffffffffff;
  @%over bra give_up;
  setp.ge.u64 %asked, %word, %round;
  @%asked bra answer;
  add.u64 %polls, %polls, 1;
  sub.u64 %spent, %now, %start;
  setp.ge.u64 %over, %spent, %limit;
  @%over bra give_up;
  setp.lt.u64 %over, %polls, %most;
  @%over bra look;
give_up:
  st.release.sys.global.u64 [%page+128], 0xffffffffffffffff;
  bra out;
answer:
  st.global.u64 [%slot], %now;
  st.release.sys.global.u64 [%page+128], %round;
  add.u64 %slot, %slot, 8;
  add.u64 %round, %round, 1;
  bra next;
out:
  ret;
}
)";

}  // namespace

std::string kernel_text() { return std::string(module_header) + pulse + handshake + memory_kernel_text(); }

}  // namespace kvet::gpu_work
