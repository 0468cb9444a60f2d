// How an importer says what a file lacks: facts that every question reads which needs that source (ARCHITECTURE.md).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "model/event_sink.h"

namespace kvet::importing {

// `name`: "sched", "launch", "nccl", "graph_nodes", "nvtx". `reason` goes on after "unavailable: ", `advice` is a sentence
// with the flag of the tool that adds it.
inline void say_missing(EventSink& sink, std::string_view name, std::string reason, std::string advice) {
  const std::string key = "source." + std::string(name);
  sink.on(Meta{key, std::move(reason)});
  sink.on(Meta{key + ".advice", std::move(advice)});
}

inline void say_no_counters(EventSink& sink, std::string reason, std::string advice) {
  sink.on(Meta{"counters.mode", "off"});
  sink.on(Meta{"counters.status", std::move(reason)});
  sink.on(Meta{"counters.advice", std::move(advice)});
}

}  // namespace kvet::importing
