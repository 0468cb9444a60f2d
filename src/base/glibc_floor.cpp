// Built only into portable programs (KVET_PORTABLE). A statically linked libstdc++ of the build machine's glibc pulls two
// functions that older systems lack: _dl_find_object (glibc 2.35, which libgcc's unwinder asks for the frame table of an
// address) and arc4random (2.36, std::random_device). Defined here over what glibc 2.34 has, they let one build run on
// Ubuntu 22.04 and RHEL 9 as well. scripts/check-glibc-floor holds the result.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace {

struct Search {
  uintptr_t address;
  dl_find_object* result;
};

// The object whose loaded segments hold the address, and its PT_GNU_EH_FRAME segment: what the interface promises
// (glibc manual, "Dynamic Linker Introspection").
int visit(dl_phdr_info* object, size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  uintptr_t first = UINTPTR_MAX, last = 0, frames = 0;
  bool inside = false;
  for (int index = 0; index < object->dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[index];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const uintptr_t end = begin + segment.p_memsz;
    if (segment.p_type == PT_LOAD) {
      first = begin < first ? begin : first;
      last = end > last ? end : last;
      inside = inside || (search->address >= begin && search->address < end);
    } else if (segment.p_type == PT_GNU_EH_FRAME) {
      frames = begin;
    }
  }
  if (!inside) {
    return 0;
  }
  *search->result = {};
  search->result->dlfo_map_start = reinterpret_cast<void*>(first);
  search->result->dlfo_map_end = reinterpret_cast<void*>(last);
  search->result->dlfo_eh_frame = reinterpret_cast<void*>(frames);
  return 1;
}

}  // namespace

// dlfo_link_map stays null: the unwinder, the only caller, does not read it.
extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<uintptr_t>(address), result};
  return dl_iterate_phdr(visit, &search) == 1 ? 0 : -1;
}

// Never fails and never returns weak numbers, as its contract asks: without randomness there is no going on.
extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  // Up to 256 bytes are never cut short (getrandom(2)); only a signal before the pool is ready interrupts.
  while (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    if (errno != EINTR) {
      abort();
    }
  }
  return value;
}
