// What /proc says about a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvet::record {

[[nodiscard]] int64_t monotonic_ns();

[[nodiscard]] std::string process_name(int pid);
// Arguments separated by blanks, quoted where they hold blanks; cut at 4 KiB. "" for one that has gone.
[[nodiscard]] std::string command_line(int pid);
[[nodiscard]] std::string join_command(const std::vector<std::string>& arguments);

// Its id in the innermost pid namespace that it is in, from the last number of "NSpid:" in the text of a status file.
[[nodiscard]] std::optional<int32_t> innermost_id(std::string_view status);
[[nodiscard]] std::optional<int32_t> namespace_pid(int pid);

// A process's thread ids, as (innermost, ours).
struct ThreadIds {
  int32_t innermost = 0, ours = 0;
};
[[nodiscard]] std::vector<ThreadIds> threads_of(int pid);

[[nodiscard]] std::vector<int> all_processes();  // that /proc shows
// The process and all that descend from it, now.
[[nodiscard]] std::vector<int> process_tree(int pid);

// "Tgid:" of a status file: the process that a thread id belongs to.
[[nodiscard]] std::optional<int32_t> thread_group(int id);

}  // namespace kvet::record
