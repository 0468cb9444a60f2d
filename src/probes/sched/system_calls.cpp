// Numbers from Linux's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64). From 424
// on all architectures share them.
#include "probes/sched/system_calls.h"

#include <algorithm>
#include <span>

namespace kvet::probes {

namespace {

struct Entry {
  int32_t number;
  OffCpuReason reason;
};

using enum OffCpuReason;

// Sorted by number.
constexpr Entry x86_64[] = {
    {0, io},  // read
    {1, io},  // write
    {2, io},  // open
    {3, io},  // close
    {7, poll},  // poll
    {16, io},  // ioctl
    {17, io},  // pread64
    {18, io},  // pwrite64
    {19, io},  // readv
    {20, io},  // writev
    {23, poll},  // select
    {34, sleep},  // pause
    {35, sleep},  // nanosleep
    {40, io},  // sendfile
    {42, io},  // connect
    {43, io},  // accept
    {44, io},  // sendto
    {45, io},  // recvfrom
    {46, io},  // sendmsg
    {47, io},  // recvmsg
    {74, io},  // fsync
    {75, io},  // fdatasync
    {202, futex},  // futex
    {208, io},  // io_getevents
    {230, sleep},  // clock_nanosleep
    {232, poll},  // epoll_wait
    {257, io},  // openat
    {270, poll},  // pselect6
    {271, poll},  // ppoll
    {275, io},  // splice
    {277, io},  // sync_file_range
    {281, poll},  // epoll_pwait
    {288, io},  // accept4
    {295, io},  // preadv
    {296, io},  // pwritev
    {299, io},  // recvmmsg
    {307, io},  // sendmmsg
    {326, io},  // copy_file_range
    {327, io},  // preadv2
    {328, io},  // pwritev2
    {333, io},  // io_pgetevents
    {426, io},  // io_uring_enter
    {437, io},  // openat2
    {441, poll},  // epoll_pwait2
    {449, futex},  // futex_waitv
    {455, futex},  // futex_wait
    {456, futex},  // futex_requeue
};

constexpr Entry aarch64[] = {
    {4, io},  // io_getevents
    {22, poll},  // epoll_pwait
    {29, io},  // ioctl
    {56, io},  // openat
    {57, io},  // close
    {63, io},  // read
    {64, io},  // write
    {65, io},  // readv
    {66, io},  // writev
    {67, io},  // pread64
    {68, io},  // pwrite64
    {69, io},  // preadv
    {70, io},  // pwritev
    {71, io},  // sendfile
    {72, poll},  // pselect6
    {73, poll},  // ppoll
    {76, io},  // splice
    {82, io},  // fsync
    {83, io},  // fdatasync
    {84, io},  // sync_file_range
    {98, futex},  // futex
    {101, sleep},  // nanosleep
    {115, sleep},  // clock_nanosleep
    {202, io},  // accept
    {203, io},  // connect
    {206, io},  // sendto
    {207, io},  // recvfrom
    {211, io},  // sendmsg
    {212, io},  // recvmsg
    {242, io},  // accept4
    {243, io},  // recvmmsg
    {269, io},  // sendmmsg
    {285, io},  // copy_file_range
    {286, io},  // preadv2
    {287, io},  // pwritev2
    {292, io},  // io_pgetevents
    {426, io},  // io_uring_enter
    {437, io},  // openat2
    {441, poll},  // epoll_pwait2
    {449, futex},  // futex_waitv
    {455, futex},  // futex_wait
    {456, futex},  // futex_requeue
};

constexpr bool sorted(std::span<const Entry> table) { return std::ranges::is_sorted(table, {}, &Entry::number); }
static_assert(sorted(x86_64) && sorted(aarch64), "searched by bisection");

}  // namespace

OffCpuReason blocking_reason(int32_t system_call, Architecture architecture) {
  const std::span<const Entry> table =
      architecture == Architecture::x86_64 ? std::span<const Entry>(x86_64) : std::span<const Entry>(aarch64);
  const auto found = std::ranges::lower_bound(table, system_call, {}, &Entry::number);
  return found != table.end() && found->number == system_call ? found->reason : other;
}

}  // namespace kvet::probes
