// A capture that is never written: what importers deliver goes straight to the in-memory view.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "model/capture.h"
#include "model/event_sink.h"
#include "store/rules.h"

namespace kvet::store {

// Rows that break a rule of rules.h are left out and counted as losses, as the writer of a file does.
class MemoryCapture final : public EventSink {
 public:
  MemoryCapture();

  StringId intern(std::string_view text) override;
  void on(const Process& row) override;
  void on(const Device& row) override;
  void on(const KernelShape& row) override;
  void on(const Context& row) override;
  void on(const ApiCall& row) override;
  void on(const Execution& row) override;
  void on(const Transfer& row) override;
  void on(const Range& row) override;
  void on(const OffCpu& row) override;
  void on(const CollectiveCall& row) override;
  void on(const Communicator& row) override;
  void on(const Sample& row) override;
  void on(const DeviceReading& row) override;
  void on(const Loss& row) override;
  void on(const ClockMapping& row) override;
  void on(const Meta& row) override;

  // The capture, as read_capture would give it: clock mappings applied, events sorted, complete. Errors are bad_input.
  Result<Capture> finish(const std::string& path) &&;

 private:
  template <class Row>
  [[nodiscard]] bool holds(const Row& row);
  template <class Row>
  void append(std::vector<Row>& rows, const Row& row);
  template <class Row>
  void define(std::vector<Row>& rows, const Row& row, uint32_t& known);

  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> ids_;
  KnownIds known_;
  std::map<LossKind, uint64_t> refused_;
  Capture capture_;
};

}  // namespace kvet::store
