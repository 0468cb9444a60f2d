// The project's one error type, and the result that carries it.
//
// A function that can fail in normal use returns Result<T>. Patterns:
//   auto capture = store::open(path);                  if (!capture) return std::unexpected(capture.error());
//   return fail(ErrorKind::bad_input, "not a capture", path, "give a file that `kvet record` wrote");
// Exceptions stay inside a layer: a library's exception is caught where the library is called and becomes an Error.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace kvet {

// What sort of failure; decides the exit status (sysexits.h numbers, as docs/exit-status.md lists them).
enum class ErrorKind {
  usage,        // 64: the command line or the plan is wrong
  bad_input,    // 65: a file or its content is wrong
  unavailable,  // 69: something that is needed is not there (root, a GPU, a program)
  internal,     // 70: a fault of kvet's own
  interrupted,  // 75: stopped by a signal; what was finished is kept
};

// Says what happened, to which thing, and what to do about it. `advice` may be empty where nothing helps.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string what;
  std::string subject;
  std::string advice;

  // "subject: what. advice": one line without a newline, for stderr.
  [[nodiscard]] std::string message() const;
  [[nodiscard]] int exit_status() const;
};

template <class T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorKind kind, std::string what, std::string subject = {},
                                                 std::string advice = {}) {
  return std::unexpected(Error{kind, std::move(what), std::move(subject), std::move(advice)});
}

}  // namespace kvet
