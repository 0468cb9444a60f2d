// Kernel names for people: decoded, and short enough for a table.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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

// An ECMAScript pattern for `--kernel` that matches `raw` and none of the other names, as short as it can be had: the
// base name, the name without parameters, or the whole mangled name. Quoted for a shell where it needs to be.
[[nodiscard]] std::string pattern_for(const std::string& raw, const std::vector<std::string>& all_raw);

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
