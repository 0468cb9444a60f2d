// Where decoders and importers put events. Implemented by store/ (the capture file) and by tests.
#pragma once

#include <string_view>

#include "model/events.h"

namespace kvet {

class EventSink {
 public:
  virtual ~EventSink() = default;

  // The id of a string; the same string gets the same id. Not thread-safe: one sink, one thread.
  virtual StringId intern(std::string_view text) = 0;

  // Processes, devices and shapes come before events that refer to them; a second one with the same id replaces it.
  virtual void on(const Process&) = 0;
  virtual void on(const Device&) = 0;
  virtual void on(const KernelShape&) = 0;

  virtual void on(const Context&) = 0;
  virtual void on(const ApiCall&) = 0;
  virtual void on(const Execution&) = 0;
  virtual void on(const Transfer&) = 0;
  virtual void on(const Range&) = 0;
  virtual void on(const OffCpu&) = 0;
  virtual void on(const CollectiveCall&) = 0;
  virtual void on(const Communicator&) = 0;
  virtual void on(const Sample&) = 0;
  virtual void on(const DeviceReading&) = 0;
  virtual void on(const Loss&) = 0;
  virtual void on(const ClockMapping&) = 0;
  virtual void on(const Meta&) = 0;
};

}  // namespace kvet
