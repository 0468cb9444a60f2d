#include "import/nsys_strings.h"

#include "import/nsys_rows.h"

namespace kvet::importing {
namespace {

// A name. Longer ones are texts of other sorts: the output of a program, the content of a file.
constexpr size_t longest_name_bytes = 1 << 20;

}  // namespace

Result<NsysStrings> NsysStrings::read(const NsysFile& file, EventSink& sink) {
  NsysStrings strings(sink);
  if (!file.has("StringIds", "id") || !file.has("StringIds", "value")) {
    return file.refuse("table StringIds is missing, so nothing in it has a name",
                       "Export it again with `nsys export --type sqlite`");
  }
  auto rows = NsysRows::select(file, "StringIds", {"id", "value"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  while (rows->next()) {
    const auto id = rows->integer(0);
    const auto value = rows->text(1);
    if (rows->wrong_type()) {
      return rows->refuse_type();
    }
    if (id && value) {
      strings.texts_.emplace(*id, value->substr(0, longest_name_bytes));
    }
  }
  if (auto ended = rows->end(); !ended) {
    return std::unexpected(ended.error());
  }
  return strings;
}

const std::string* NsysStrings::find(int64_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? nullptr : &found->second;
}

const StringId* NsysStrings::intern(int64_t id) {
  if (const auto known = interned_.find(id); known != interned_.end()) {
    return &known->second;
  }
  const std::string* text = find(id);
  return text == nullptr ? nullptr : &interned_.emplace(id, sink_->intern(*text)).first->second;
}

}  // namespace kvet::importing
