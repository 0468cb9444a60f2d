// NVTX ranges of an export.
#include <cctype>
#include <string>
#include <string_view>
#include <unordered_map>

#include "import/nsys_import.h"

namespace kvet::importing {
namespace {

// ENUM_NSYS_EVENT_TYPE, the same in all versions.
constexpr int64_t push_pop = 59, start_end = 60, text_push_pop = 70, text_start_end = 71, domain_create = 75;

bool is_range(int64_t type) {
  return type == push_pop || type == start_end || type == text_push_pop || type == text_start_end;
}

}  // namespace

Result<void> read_ranges(NsysImport& import) {
  constexpr std::string_view table = "NVTX_EVENTS";
  if (!import.file.has(table)) {
    return {};
  }
  const auto rows_of = [&] {
    return NsysRows::select(import.file, table,
                            {"start", "end", "eventType", "text", "textId", "globalTid", "domainId"});
  };
  // Domains are events among the others, at any place.
  std::unordered_map<int64_t, StringId> domains;
  for (const bool of_domains : {true, false}) {
    auto rows = rows_of();
    if (!rows) {
      return std::unexpected(rows.error());
    }
    while (rows->next()) {
      const int64_t type = rows->integer(2).value_or(0);
      if (of_domains ? type != domain_create : !is_range(type)) {
        continue;
      }
      const auto text = rows->text(3);
      const auto text_id = rows->integer(4), thread = rows->integer(5), domain = rows->integer(6);
      const auto start = rows->integer(0), end = rows->integer(1);
      if (rows->wrong_type()) {
        return rows->refuse_type();
      }
      StringId name;
      if (text) {
        name = import.sink.intern(*text);
      } else if (const StringId* registered = text_id ? import.strings.intern(*text_id) : nullptr) {
        name = *registered;
      } else if (text_id) {
        import.lose(LossKind::unjoined);
        continue;
      }
      if (of_domains) {
        if (domain) {
          domains.emplace(*domain, name);
        }
        continue;
      }
      if (!end) {
        import.lose(LossKind::unmatched);  // still open when the recording ended
        continue;
      }
      const auto when = import.times(start, end);
      if (!when) {
        continue;
      }
      const GlobalId id = global_id(thread.value_or(0));
      Range range;
      range.process = import.process(id);
      range.thread_id = id.tid;
      range.name = name;
      if (const auto known = domain ? domains.find(*domain) : domains.end(); known != domains.end()) {
        range.domain = known->second;
      }
      range.start_ns = when->start_ns;
      range.end_ns = when->end_ns;
      import.sink.on(range);
      ++import.ranges;
      // The names of NCCL's own functions (nccl.h): "ncclAllReduce".
      const std::string* registered_text = text || !text_id ? nullptr : import.strings.find(*text_id);
      const std::string_view words = text ? *text : registered_text != nullptr ? *registered_text : std::string_view{};
      import.nccl_ranges +=
          words.size() > 4 && words.starts_with("nccl") && std::isupper(static_cast<unsigned char>(words[4])) ? 1 : 0;
    }
    if (auto ended = rows->end(); !ended) {
      return std::unexpected(ended.error());
    }
  }
  return {};
}

}  // namespace kvet::importing
