#include "record/mapping_watch.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace kvet::record {

namespace {

// A record is about 130 bytes, more for long paths: 256 KiB hold 1,000 to 2,000. Python with PyTorch maps some 700
// libraries in seconds; the reader is woken for each record. What is lost all the same is reported as such.
constexpr size_t ring_bytes = 256 << 10;

// PERF_RECORD_MMAP of perf_event_open(2), after the header.
struct MmapRecord {
  uint32_t pid, tid;
  uint64_t address, length, page_offset;
  // followed by the path, terminated
};

}  // namespace

void MappingWatch::Unmap::operator()(void* memory) const { munmap(memory, size); }

Result<MappingWatch> MappingWatch::open() {
  MappingWatch watch;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.mmap = 1;  // executable ones only
  attributes.watermark = 1;
  attributes.wakeup_watermark = 1;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const long cpus = sysconf(_SC_NPROCESSORS_CONF);
  for (int cpu = 0; cpu < cpus; ++cpu) {
    FileDescriptor event(
        static_cast<int>(syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event.valid() && errno == ENODEV) {
      continue;  // a CPU that is not there now
    }
    void* memory = MAP_FAILED;
    if (event.valid()) {
      memory = mmap(nullptr, page + ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
    }
    if (memory == MAP_FAILED) {
      return fail(ErrorKind::unavailable, std::string("new mappings cannot be watched: ") + std::strerror(errno),
                  "perf events", "run as root, or with CAP_PERFMON");
    }
    watch.cpus_.push_back({std::move(event), std::unique_ptr<void, Unmap>(memory, Unmap{page + ring_bytes})});
  }
  return watch;
}

std::vector<int> MappingWatch::descriptors() const {
  std::vector<int> all;
  all.reserve(cpus_.size());
  for (const Cpu& cpu : cpus_) {
    all.push_back(cpu.event.get());
  }
  return all;
}

bool MappingWatch::poll(const std::function<void(int, const Mapping&)>& handler) {
  bool lost = false;
  for (Cpu& cpu : cpus_) {
    lost |= poll(cpu, handler);
  }
  return lost;
}

bool MappingWatch::poll(Cpu& cpu, const std::function<void(int, const Mapping&)>& handler) {
  auto* control = static_cast<perf_event_mmap_page*>(cpu.memory.get());
  const auto* ring = static_cast<const unsigned char*>(cpu.memory.get()) + control->data_offset;
  const uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = control->data_tail;
  bool lost = false;
  while (tail < head) {
    perf_event_header header;
    // Records are multiples of 8 bytes, so a header never wraps around the end of the ring.
    std::memcpy(&header, ring + tail % ring_bytes, sizeof header);
    record_.resize(header.size);
    const size_t first = std::min<size_t>(header.size, ring_bytes - tail % ring_bytes);
    std::memcpy(record_.data(), ring + tail % ring_bytes, first);
    std::memcpy(record_.data() + first, ring, header.size - first);
    tail += header.size;
    MmapRecord mmap_record;
    const size_t path_at = sizeof header + sizeof mmap_record;
    if (header.type == PERF_RECORD_MMAP && header.size > path_at) {
      std::memcpy(&mmap_record, record_.data() + sizeof header, sizeof mmap_record);
      const auto* path = reinterpret_cast<const char*>(record_.data() + path_at);
      if (*path == '/') {  // "//anon", "[vdso]" and the like are no files
        handler(static_cast<int>(mmap_record.pid), {mmap_record.address, mmap_record.address + mmap_record.length,
                                                    std::string(path, strnlen(path, header.size - path_at))});
      }
    } else if (header.type == PERF_RECORD_LOST) {
      lost = true;
    }
  }
  __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
  return lost;
}

}  // namespace kvet::record
