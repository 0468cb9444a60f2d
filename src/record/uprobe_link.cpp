#include "record/uprobe_link.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "record/return_probe_guard.h"

namespace kvet::record {

namespace {

using probes::UprobeWay;

// The part of union bpf_attr for BPF_LINK_CREATE with an uprobe_multi link, since Linux 6.6 (include/uapi/linux/bpf.h);
// the distribution's headers are older.
struct LinkCreateUprobeMulti {
  uint32_t program = 0;
  uint32_t target = 0;
  uint32_t attach_type = probes::attach_type_uprobe_multi;
  uint32_t flags = 0;
  uint64_t path = 0;
  uint64_t offsets = 0;
  uint64_t reference_counter_offsets = 0;
  uint64_t cookies = 0;
  uint32_t count = 0;
  uint32_t multi_flags = 0;
  int32_t pid = 0;
  uint32_t padding = 0;
};
constexpr uint32_t uprobe_multi_return = 1;  // BPF_F_UPROBE_MULTI_RETURN

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// Returns a descriptor or a negative errno.
int create_multi_link(int program, const char* path, const std::vector<uint64_t>& offsets,
                      const std::vector<uint64_t>& cookies, bool at_return, int pid) {
  LinkCreateUprobeMulti attributes;
  attributes.program = static_cast<uint32_t>(program);
  attributes.path = address_of(path);
  attributes.offsets = address_of(offsets.data());
  attributes.cookies = cookies.empty() ? 0 : address_of(cookies.data());
  attributes.count = static_cast<uint32_t>(offsets.size());
  attributes.multi_flags = at_return ? uprobe_multi_return : 0;
  attributes.pid = pid;
  const long descriptor = syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes);
  return descriptor < 0 ? -errno : static_cast<int>(descriptor);
}

std::string explain(int error) {
  constexpr int not_supported = 524;  // ENOTSUPP of the kernel, which the C library does not know
  return error == not_supported ? "its first instruction is of a kind that the kernel does not probe"
                                : std::string(std::strerror(error));
}

int read_number(const char* path, const char* format) {
  int value = -1;
  if (FILE* file = std::fopen(path, "re")) {
    if (std::fscanf(file, format, &value) != 1) {
      value = -1;
    }
    std::fclose(file);
  }
  return value;
}

// One function through the uprobe PMU (Linux 4.17): a perf event and a link that ties the program to it.
Result<void> attach_single(UprobeLinks& links, int program, const std::string& path, const FunctionOffset& function,
                           bool at_return, int pid) {
  static const int type = read_number("/sys/bus/event_source/devices/uprobe/type", "%d");
  static const int return_bit = read_number("/sys/bus/event_source/devices/uprobe/format/retprobe", "config:%d");
  if (type < 0 || return_bit < 0) {
    return fail(ErrorKind::unavailable, "the kernel has no uprobe events", "uprobes");
  }
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = static_cast<uint32_t>(type);
  attributes.config = at_return ? uint64_t{1} << return_bit : 0;
  attributes.uprobe_path = address_of(path.c_str());
  attributes.probe_offset = function.offset;
  FileDescriptor event(static_cast<int>(syscall(SYS_perf_event_open, &attributes, pid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  const char* const symbol = function.function->symbol;
  if (!event.valid()) {
    return fail(ErrorKind::unavailable, "cannot be probed: " + explain(errno), symbol);
  }
  LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event = {.bpf_cookie = function.function->cookie});
  FileDescriptor link(bpf_link_create(program, event.get(), BPF_PERF_EVENT, &options));
  if (!link.valid()) {
    return fail(ErrorKind::unavailable, "cannot be probed: " + explain(errno), symbol, "Linux 5.15 or newer is needed");
  }
  links.push_back(std::move(link));
  links.push_back(std::move(event));
  return {};
}

// The functions of the program that the library has.
std::vector<FunctionOffset> select(const probes::UprobeProgram& program, const Library& library, bool at_return) {
  std::vector<FunctionOffset> selected;
  for (const FunctionOffset& located : library.functions) {
    const auto wanted = std::ranges::find(program.functions, located.function->cookie, &probes::ProbedFunction::cookie);
    if (wanted != program.functions.end() && (!at_return || wanted->at_return)) {
      selected.push_back(located);
    }
  }
  return selected;
}

// All functions in one link. One that cannot be probed makes the kernel refuse the link as a whole; then each is tried by
// itself, and the first that is refused is named.
Result<void> attach_multi(UprobeLinks& links, int program, const std::string& path,
                          std::span<const FunctionOffset> functions, bool at_return, int pid) {
  std::vector<uint64_t> offsets, cookies;
  for (const FunctionOffset& function : functions) {
    offsets.push_back(function.offset);
    cookies.push_back(function.function->cookie);
  }
  const int link = create_multi_link(program, path.c_str(), offsets, cookies, at_return, pid);
  if (link >= 0) {
    links.emplace_back(link);
    return {};
  }
  if (functions.size() == 1 || link == -EPERM || link == -ESRCH) {
    return fail(ErrorKind::unavailable, "cannot be probed: " + explain(-link), functions.front().function->symbol);
  }
  Result<void> result;
  for (size_t index = 0; index < functions.size(); ++index) {
    if (auto one = attach_multi(links, program, path, functions.subspan(index, 1), at_return, pid); !one && result) {
      result = one;
    }
  }
  return result;
}

Result<void> attach_side(UprobeLinks& links, const probes::UprobeProgram& program, const Library& library,
                         bool at_return, int pid) {
  const std::vector<FunctionOffset> functions = select(program, library, at_return);
  const int descriptor = at_return ? program.return_descriptor : program.entry_descriptor;
  const std::string path = library.reachable_path();
  if (functions.empty() || descriptor < 0) {
    return {};
  }
  if (program.way == UprobeWay::single) {
    Result<void> result;
    for (const FunctionOffset& function : functions) {
      if (auto one = attach_single(links, descriptor, path, function, at_return, pid); !one && result) {
        result = one;
      }
    }
    return result;
  }
  return attach_multi(links, descriptor, path, functions, at_return, pid);
}

}  // namespace

UprobeWay best_uprobe_way() {
  // The smallest program: return 0.
  const bpf_insn instructions[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
  LIBBPF_OPTS(bpf_prog_load_opts, options,
              .expected_attach_type = static_cast<bpf_attach_type>(probes::attach_type_uprobe_multi));
  const FileDescriptor program(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "kvet_try", "GPL", instructions, 2, &options));
  if (!program.valid()) {
    return UprobeWay::single;
  }
  // A folder cannot be probed (EBADF), which only a kernel that knows these links finds out. The pid is looked at before
  // that since Linux 6.10 fixed the filter, which until then let only the first thread through: then −1 is EINVAL.
  const std::vector<uint64_t> offsets{0};
  const int folder = create_multi_link(program.get(), "/", offsets, {}, false, 0);
  const int nobody = create_multi_link(program.get(), "/", offsets, {}, false, -1);
  return folder == -EBADF && nobody == -EINVAL ? UprobeWay::multi : UprobeWay::single;
}

Attachment attach_uprobes(const probes::UprobeProgram& program, const Library& library, int pid) {
  // Returns first: an entry that is seen then has its return seen. A return without an entry began before the attach.
  Attachment attachment;
  if (program.return_descriptor >= 0 && !select(program, library, true).empty() && returns_are_refused(pid)) {
    attachment.failure =
        Error{ErrorKind::unavailable, "not probed, since its filter would end it at the return of a probed function",
              "a process under seccomp",
              "use Linux 6.14 or newer, or run it without the filter "
              "(docker run --security-opt seccomp=unconfined)"};
    return attachment;
  }
  for (const bool at_return : {true, false}) {
    if (auto attached = attach_side(attachment.links, program, library, at_return, pid);
        !attached && !attachment.failure) {
      attachment.failure = attached.error();
    }
  }
  attachment.gone = attachment.failure && kill(pid, 0) != 0 && errno == ESRCH;
  // In the order of closing: entries first.
  std::reverse(attachment.links.begin(), attachment.links.end());
  return attachment;
}

}  // namespace kvet::record
