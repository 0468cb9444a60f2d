#include "base/result.h"

#include "base/text.h"

namespace kvet {

std::string Error::message() const {
  std::string text = subject.empty() ? what : subject + ": " + what;
  if (!advice.empty()) {
    text += ". " + advice;
  }
  return printable(text);  // file names and facts of captures may hold anything, line ends included
}

int Error::exit_status() const {
  switch (kind) {
    case ErrorKind::usage: return 64;
    case ErrorKind::bad_input: return 65;
    case ErrorKind::unavailable: return 69;
    case ErrorKind::internal: return 70;
    case ErrorKind::interrupted: return 75;
  }
  return 70;
}

}  // namespace kvet
