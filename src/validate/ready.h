// Waits for a server on this machine to answer: one small HTTP GET over a loopback socket at a time.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace kvet::validate {

struct ReadyUrl {
  std::string host, path;
  uint16_t port = 80;
};
// "http://127.0.0.1:8000/health". usage: not http, or not this machine (127.0.0.0/8, ::1, localhost).
Result<ReadyUrl> parse_ready_url(const std::string& url);

enum class Answer : uint8_t { nothing, not_ready, ready };  // ready: a status from 200 to 399
// At most about a second.
Answer ask(const ReadyUrl& url);

}  // namespace kvet::validate
