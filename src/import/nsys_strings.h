// The strings of an export (StringIds), which its other tables refer to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "import/nsys_file.h"
#include "model/event_sink.h"

namespace kvet::importing {

class NsysStrings {
 public:
  static Result<NsysStrings> read(const NsysFile& file, EventSink& sink);

  // Null: there is none of that id.
  [[nodiscard]] const std::string* find(int64_t id) const;
  // Of the sink. Null: there is none of that id.
  const StringId* intern(int64_t id);

 private:
  explicit NsysStrings(EventSink& sink) : sink_(&sink) {}

  EventSink* sink_;
  std::unordered_map<int64_t, std::string> texts_;
  std::unordered_map<int64_t, StringId> interned_;
};

}  // namespace kvet::importing
