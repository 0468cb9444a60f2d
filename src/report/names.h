// Kernel names for people: decoded, and short enough for a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/name_index.h"

namespace kvet::report {

// At most max_columns columns, fit for a terminal (see safe_text). As much is kept as fits, given up in this order:
// return type and parameters; namespaces inside template arguments; the kernel's own namespaces; template arguments
// that say little (numbers, plain types); nested ones; all of them (<…>); characters in the middle. A lambda is called by
// the function that it stands in: gpu_kernel_impl<direct_copy_kernel_cuda>. Triton and extern "C" names stay as they are.
[[nodiscard]] std::string short_name(std::string_view raw, size_t max_columns);

// short_name for each of several kernels. Where two different ones come out alike, all of those get a mark from their
// full names' hash ("~3f2a"), which is the same in every file.
[[nodiscard]] std::vector<std::string> short_names(const std::vector<std::string>& raw, size_t max_columns);

// The identifier of the function itself: "vectorized_elementwise_kernel" of at::native::vectorized_elementwise_kernel<…>.
[[nodiscard]] std::string base_name(std::string_view raw);

// Finds patterns that tell the given kernels apart.
class PatternMaker {
 public:
  explicit PatternMaker(const std::vector<std::string>& all_raw);
  // An ECMAScript pattern for `--kernel` that matches `raw` and none of the others, as short as it can be had: the base
  // name, the beginning of the instantiation, the whole decoded name, or the anchored mangled name. Quoted for a shell
  // where it needs to be; control characters are spelled out.
  [[nodiscard]] std::string pattern_for(const std::string& raw) const;

 private:
  [[nodiscard]] bool tells_apart(const std::string& raw, std::string_view literal) const;
  std::unordered_map<std::string, uint32_t> ids_;  // of the raw names in the index
  NameIndex index_;  // raw and decoded names
};

// Decodes and shortens each name once.
class NameCache {
 public:
  explicit NameCache(size_t max_columns) : max_columns_(max_columns) {}
  [[nodiscard]] const std::string& operator()(const std::string& raw);

 private:
  size_t max_columns_;
  std::map<std::string, std::string, std::less<>> short_;
};

}  // namespace kvet::report
