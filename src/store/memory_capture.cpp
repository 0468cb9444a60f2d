#include "store/memory_capture.h"

#include <utility>

#include "store/clock.h"

namespace kvet::store {

MemoryCapture::MemoryCapture() {
  ids_.emplace("", 0);
  known_.strings = 1;
}

StringId MemoryCapture::intern(std::string_view text) {
  text = text.substr(0, text_limit_bytes);
  if (const auto found = ids_.find(text); found != ids_.end()) {
    return {found->second};
  }
  if (known_.strings >= id_limit) {
    ++refused_[LossKind::table_full];
    return {0};
  }
  const uint32_t id = known_.strings++;
  capture_.strings.emplace_back(text);
  ids_.emplace(text, id);
  return {id};
}

template <class Row>
bool MemoryCapture::holds(const Row& row) {
  RowChecker checker{known_};
  describe(checker, row);
  switch (checker.fault()) {
    case Fault::none: return true;
    case Fault::time: ++refused_[LossKind::bad_time]; return false;
    case Fault::reference: ++refused_[LossKind::unjoined]; return false;
    case Fault::value: ++refused_[LossKind::unknown_record]; return false;
  }
  return false;
}

template <class Row>
void MemoryCapture::append(std::vector<Row>& rows, const Row& row) {
  if (holds(row)) {
    rows.push_back(row);
  }
}

template <class Row>
void MemoryCapture::define(std::vector<Row>& rows, const Row& row, uint32_t& known) {
  if (row.id.value >= id_limit) {
    ++refused_[LossKind::table_full];
    return;
  }
  while (rows.size() <= row.id.value) {  // a hole is filled with an empty row until its own comes
    rows.emplace_back().id.value = static_cast<uint32_t>(rows.size() - 1);
  }
  known = static_cast<uint32_t>(rows.size());
  if (holds(row)) {
    rows[row.id.value] = row;
  }
}

void MemoryCapture::on(const Process& row) { define(capture_.processes, row, known_.processes); }
void MemoryCapture::on(const Device& row) { define(capture_.devices, row, known_.devices); }
void MemoryCapture::on(const KernelShape& row) { define(capture_.shapes, row, known_.shapes); }
void MemoryCapture::on(const Context& row) { append(capture_.contexts, row); }
void MemoryCapture::on(const ApiCall& row) { append(capture_.api_calls, row); }
void MemoryCapture::on(const Execution& row) { append(capture_.executions, row); }
void MemoryCapture::on(const Transfer& row) { append(capture_.transfers, row); }
void MemoryCapture::on(const Range& row) { append(capture_.ranges, row); }
void MemoryCapture::on(const OffCpu& row) { append(capture_.off_cpu, row); }
void MemoryCapture::on(const CollectiveCall& row) { append(capture_.collective_calls, row); }
void MemoryCapture::on(const Communicator& row) { append(capture_.communicators, row); }
void MemoryCapture::on(const Sample& row) { append(capture_.samples, row); }
void MemoryCapture::on(const DeviceReading& row) { append(capture_.device_readings, row); }
void MemoryCapture::on(const Loss& row) { append(capture_.losses, row); }
void MemoryCapture::on(const ClockMapping& row) { append(capture_.clock_mappings, row); }
void MemoryCapture::on(const Meta& row) { capture_.meta.insert_or_assign(row.key, row.value); }

Result<Capture> MemoryCapture::finish(const std::string& path) && {
  capture_.path = path;
  capture_.complete = true;
  for (const auto& [kind, count] : refused_) {
    capture_.losses.push_back({Source::store, kind, {}, count, {}, {}});
  }
  if (auto mapped = apply_clocks(capture_); !mapped) {
    return std::unexpected(mapped.error());
  }
  return std::move(capture_);
}

}  // namespace kvet::store
