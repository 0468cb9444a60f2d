#include "capability/libraries.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "capability/planted_tree.h"

namespace kvet::capability {
namespace {

void append(std::string& bytes, uint32_t value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof raw);
}

// A cache as elf/dl-cache.h of glibc lays it out: struct cache_file_new, its entries, the strings.
std::string make_cache(const std::vector<std::pair<std::string, std::string>>& libraries) {
  std::string bytes = "glibc-ld.so.cache1.1";
  std::string strings;
  const auto strings_at = static_cast<uint32_t>(48 + 24 * libraries.size());
  append(bytes, static_cast<uint32_t>(libraries.size()));
  append(bytes, 0);          // length of the strings: not needed by readers
  append(bytes, 2);          // little endian
  bytes.append(16, '\0');    // extension offset, unused
  for (const auto& [name, path] : libraries) {
    append(bytes, 0x0303);  // ELF, libc6, x86-64
    append(bytes, strings_at + static_cast<uint32_t>(strings.size()));
    strings += name + '\0';
    append(bytes, strings_at + static_cast<uint32_t>(strings.size()));
    strings += path + '\0';
    bytes.append(12, '\0');  // OS version, hardware capabilities
  }
  return bytes + strings;
}

TEST(LinkerCache, GivesThePathsOfAName) {
  const std::string cache = make_cache({{"libcuda.so.1", "/usr/lib/libcuda.so.1"},
                                        {"libcupti.so.13", "/opt/a/libcupti.so.13"},
                                        {"libcuda.so.1", "/usr/lib/hwcaps/libcuda.so.1"}});
  EXPECT_EQ(cached_paths(cache, "libcuda.so.1"),
            (std::vector<std::string>{"/usr/lib/libcuda.so.1", "/usr/lib/hwcaps/libcuda.so.1"}));
  EXPECT_TRUE(cached_paths(cache, "libcuda.so").empty());
  // An old table may stand in front of the new one.
  EXPECT_EQ(cached_paths("ld.so-1.7.0" + std::string(13, '\0') + cache, "libcupti.so.13").size(), 1U);
}

TEST(LinkerCache, SurvivesAnyCut) {
  const std::string cache = make_cache({{"a.so", "/lib/a.so"}, {"b.so", "/lib/b.so"}});
  for (size_t length = 0; length < cache.size(); ++length) {
    for (const std::string& path : cached_paths(cache.substr(0, length), "a.so")) {
      EXPECT_EQ(path, "/lib/a.so");
    }
  }
  std::string wild = cache;
  std::memset(wild.data() + 20, 0xff, wild.size() - 20);  // 4 billion entries, offsets beyond the end
  EXPECT_TRUE(cached_paths(wild, "a.so").empty());
}

// The machine's own cache, against ldconfig's reading of it.
TEST(LinkerCache, AgreesWithLdconfig) {
  FILE* pipe = ::popen("/sbin/ldconfig -p 2>/dev/null | sed -n 's/.*libc.so.6 (libc6,x86-64.*=> //p' | head -1", "r");
  ASSERT_NE(pipe, nullptr);
  char line[512] = {};
  const bool got = std::fgets(line, sizeof line, pipe) != nullptr;
  ::pclose(pipe);
  if (!got) {
    GTEST_SKIP() << "ldconfig names no x86-64 libc.so.6 here";
  }
  line[std::strcspn(line, "\n")] = '\0';
  bool found = false;
  for (const FoundLibrary& library : find_library(System::current(), "libc.so")) {
    found = found || library.path == line;
  }
  EXPECT_TRUE(found) << line;
}

TEST(FindLibrary, GoesWhereAProcessWouldGo) {
  PlantedTree tree;
  tree.system.environment = {{"LD_LIBRARY_PATH", "/first::/second"},
                             {"PATH", "/usr/bin:/env/bin"},
                             {"HOME", "/home/me"},
                             {"VIRTUAL_ENV", "/venv"}};
  tree.plant("/second/libcupti.so.12", "1");
  tree.plant("/etc/ld.so.cache", make_cache({{"libcupti.so.13", "/cached/libcupti.so.13"},
                                             {"libcuptix.so.13", "/cached/libcuptix.so.13"},
                                             {"libcupti.so.11", "/gone/libcupti.so.11"}}));
  tree.plant("/cached/libcupti.so.13", "2");
  tree.plant("/cached/libcuptix.so.13", "x");
  tree.plant("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "3");
  tree.plant("/venv/lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12", "4");
  tree.plant("/env/bin/python3", "");
  tree.plant("/env/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", "5");
  std::vector<std::string> paths, how;
  for (const FoundLibrary& library : find_library(tree.system, "libcupti.so")) {
    paths.push_back(library.path);
    how.push_back(library.how);
  }
  EXPECT_EQ(paths,
            (std::vector<std::string>{"/second/libcupti.so.12", "/cached/libcupti.so.13",
                                      "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                      "/venv/lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12",
                                      "/env/bin/../lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13"}));
  EXPECT_EQ(how, (std::vector<std::string>{"LD_LIBRARY_PATH", "the linker's cache", "the CUDA toolkit",
                                           "a Python package", "a Python package"}));
}

TEST(FindLibrary, NamesAFileOnce) {
  PlantedTree tree;
  tree.plant("/usr/lib/libcuda.so.1", "1");
  ASSERT_EQ(::symlink("libcuda.so.1", tree.system.path("/usr/lib/libcuda.so").c_str()), 0);
  const auto found = find_library(tree.system, "libcuda.so");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(find_library(tree.system, "libnccl.so").empty());
}

}  // namespace
}  // namespace kvet::capability
