#include "capability/bpf_trial.h"

#include <bpf/bpf.h>
#include <link.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "capability/probe_targets.h"

namespace kvet::capability {

namespace {

constexpr const char* own_program = "/proc/self/exe";

// Where in the program's file an address of its code lies. 0 when it is not code of the main program.
uint64_t own_file_offset(const void* address) {
  struct Search {
    uintptr_t address;
    uint64_t offset;
  } search{reinterpret_cast<uintptr_t>(address), 0};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* argument) {
        auto* wanted = static_cast<Search*>(argument);
        for (int index = 0; index < object->dlpi_phnum; ++index) {
          const ElfW(Phdr)& segment = object->dlpi_phdr[index];
          const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && wanted->address >= begin && wanted->address < begin + segment.p_filesz) {
            wanted->offset = wanted->address - begin + segment.p_offset;
          }
        }
        return 1;  // the first object is the main program
      },
      &search);
  return search.offset;
}

FileDescriptor load(bpf_prog_type type) {
  const bpf_insn instructions[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
  const int descriptor = ::bpf_prog_load(type, "kvet_trial", "GPL", instructions, std::size(instructions), nullptr);
  if (descriptor < 0) {
    errno = -descriptor;
    return {};
  }
  return FileDescriptor(descriptor);
}

int outcome(const FileDescriptor& descriptor) { return descriptor.valid() ? 0 : errno; }

}  // namespace

FileDescriptor load_nothing() { return load(BPF_PROG_TYPE_KPROBE); }

FileDescriptor attach_to_own_function(int program, const void* function, Where where) {
  uint32_t type = 0;
  if (!(std::ifstream("/sys/bus/event_source/devices/uprobe/type") >> type)) {
    errno = ENODEV;
    return {};
  }
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  // Bit 0 asks for the return (/sys/bus/event_source/devices/uprobe/format/retprobe).
  attributes.config = where == Where::at_return ? 1 : 0;
  attributes.config1 = reinterpret_cast<uint64_t>(own_program);
  attributes.config2 = own_file_offset(function);
  FileDescriptor event(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, 0 /* this process */, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (event.valid() && (::ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program) != 0 ||
                        ::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)) {
    const int reason = errno;
    event.reset();
    errno = reason;
  }
  return event;
}

BpfTrial try_bpf() {
  BpfTrial trial;
  const FileDescriptor program = load_nothing();
  trial.load = outcome(program);

  const int ring = ::bpf_map_create(BPF_MAP_TYPE_RINGBUF, "kvet_trial", 0, 0,
                                    static_cast<uint32_t>(::sysconf(_SC_PAGESIZE)), nullptr);
  trial.ring_buffer = ring < 0 ? -ring : 0;
  const FileDescriptor ring_owner(ring < 0 ? -1 : ring);
  if (!program.valid()) {
    return trial;
  }

  const FileDescriptor raw = load(BPF_PROG_TYPE_RAW_TRACEPOINT);
  trial.raw_tracepoint = outcome(raw);
  if (raw.valid()) {
    const int link = ::bpf_raw_tracepoint_open("sched_switch", raw.get());
    trial.raw_tracepoint = link < 0 ? -link : 0;
    const FileDescriptor owner(link < 0 ? -1 : link);
  }

  const FileDescriptor single =
      attach_to_own_function(program.get(), reinterpret_cast<const void*>(kvet_target_push), Where::entry);
  trial.uprobe = outcome(single);
  return trial;
}

std::string explain(int error_number) {
  switch (error_number) {
    case 0: return "works";
    case -1: return "not tried, since no program can be loaded";
    case EPERM: return "not permitted (EPERM)";
    case EACCES: return "not permitted (EACCES)";
    case ENOSYS: return "this kernel has no bpf(2)";
    default: {
      const char* name = ::strerrorname_np(error_number);
      return std::string(::strerrordesc_np(error_number) == nullptr ? "failed" : ::strerrordesc_np(error_number)) +
             " (" + (name == nullptr ? std::to_string(error_number) : name) + ")";
    }
  }
}

}  // namespace kvet::capability
