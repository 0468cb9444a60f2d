#include "probes/kernel/ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <vector>

namespace kvet::probes {

namespace {

// As in kernel/kernel.bpf.h.
constexpr uint32_t max_targets = 16384;

int on_sample(void* handler, void* data, size_t size) {
  (*static_cast<RingReader::Handler*>(handler))({static_cast<const std::byte*>(data), size});
  return 0;
}

// libbpf has one printer for the whole program.
thread_local std::string collected;
thread_local bool collecting = false;

int collect(enum libbpf_print_level level, const char* format, va_list arguments) {
  if (!collecting || level == LIBBPF_DEBUG) {
    return 0;
  }
  char line[512];
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  if (length > 0) {
    collected.append(line);
    // A verifier log can have megabytes.
    if (collected.size() > 65536) {
      collected.erase(0, collected.size() - 32768);
    }
  }
  return length;
}

}  // namespace

void RingReader::Close::operator()(ring_buffer* ring) const { ring_buffer__free(ring); }

Result<RingReader> RingReader::open(int map_descriptor, Handler handler) {
  RingReader reader;
  reader.handler_ = std::make_unique<Handler>(std::move(handler));
  reader.ring_.reset(ring_buffer__new(map_descriptor, on_sample, reader.handler_.get(), nullptr));
  if (!reader.ring_) {
    return fail(ErrorKind::unavailable, std::string("the ring buffer cannot be read: ") + std::strerror(errno), "eBPF");
  }
  return reader;
}

size_t RingReader::poll() {
  const int events = ring_buffer__consume(ring_.get());
  return events > 0 ? static_cast<size_t>(events) : 0;
}

int RingReader::descriptor() const { return ring_buffer__epoll_fd(ring_.get()); }

BpfCounters read_counters(int map_descriptor) {
  BpfCounters sums{};
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) {
    return sums;
  }
  std::vector<uint64_t> values(static_cast<size_t>(cpus));
  for (uint32_t counter = 0; counter < KVET_COUNTER_LIMIT; ++counter) {
    if (bpf_map_lookup_elem(map_descriptor, &counter, values.data()) == 0) {
      for (const uint64_t value : values) {
        sums[counter] += value;
      }
    }
  }
  return sums;
}

Result<TargetMap> TargetMap::create() {
  TargetMap targets;
  targets.map_.reset(
      bpf_map_create(BPF_MAP_TYPE_HASH, "targets", sizeof(uint32_t), sizeof(uint32_t), max_targets, nullptr));
  if (!targets.map_.valid()) {
    return fail(ErrorKind::unavailable, std::string("the kernel refuses a map: ") + std::strerror(errno), "eBPF",
                "run as root, or with CAP_BPF and CAP_PERFMON");
  }
  return targets;
}

Result<void> TargetMap::add(int32_t process_id) {
  const auto key = static_cast<uint32_t>(process_id);
  const uint32_t present = 1;
  if (bpf_map_update_elem(map_.get(), &key, &present, BPF_ANY) != 0) {
    return fail(ErrorKind::unavailable, std::string("the process cannot be followed: ") + std::strerror(errno),
                "process " + std::to_string(process_id));
  }
  return {};
}

void TargetMap::remove(int32_t process_id) {
  const auto key = static_cast<uint32_t>(process_id);
  bpf_map_delete_elem(map_.get(), &key);
}

bool TargetMap::contains(int32_t process_id) const {
  const auto key = static_cast<uint32_t>(process_id);
  uint32_t value = 0;
  return bpf_map_lookup_elem(map_.get(), &key, &value) == 0;
}

uint32_t own_pid_namespace() {
  struct stat status{};
  // PROC_PID_INIT_INO of include/linux/proc_ns.h: the number of the machine's own namespace is fixed.
  constexpr ino_t initial = 0xEFFFFFFC;
  if (stat("/proc/self/ns/pid", &status) != 0 || status.st_ino == initial) {
    return 0;
  }
  return static_cast<uint32_t>(status.st_ino);
}

LibbpfMessages::LibbpfMessages() {
  collected.clear();
  collecting = true;
  libbpf_set_print(collect);
}

LibbpfMessages::~LibbpfMessages() { collecting = false; }

std::string LibbpfMessages::last() const {
  // The verifier ends with "processed N insns"; what it objects to is the line before.
  std::string best;
  size_t begin = 0;
  while (begin < collected.size()) {
    size_t end = collected.find('\n', begin);
    end = end == std::string::npos ? collected.size() : end;
    const std::string line = collected.substr(begin, end - begin);
    begin = end + 1;
    const bool noise = line.empty() || line.starts_with("processed ") || line.starts_with("-- ") ||
                       line.starts_with("libbpf: failed to load object") ||
                       line.find("failed to load BPF skeleton") != std::string::npos;
    if (!noise) {
      best = line;
    }
  }
  return best.starts_with("libbpf: ") ? best.substr(8) : best;
}

Error bpf_error(const std::string& doing, const std::string& what, int error, const LibbpfMessages& said) {
  std::string text = doing + " failed: " + std::strerror(error);
  const std::string last = said.last();
  if (!last.empty()) {
    text += " (" + last + ")";
  }
  const bool rights = error == EPERM || error == EACCES;
  return Error{ErrorKind::unavailable, text, what,
               rights ? "run as root, or with CAP_BPF and CAP_PERFMON" : "`kvet doctor` says what is missing"};
}

}  // namespace kvet::probes
