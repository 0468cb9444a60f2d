#include "base/terminal.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/text.h"

namespace kvet {

namespace {

void print_line(std::string_view colour, std::string_view label, std::string_view message) {
  const bool coloured = !colour.empty() && colour_allowed(STDERR_FILENO);
  std::string line;
  if (coloured) {
    line += colour;
  }
  line += "kvet:";
  line += label;
  if (coloured) {
    line += "\033[0m";
  }
  line += ' ';
  // Escaped piece by piece, since a message may have lines of its own.
  bool first = true;
  for (std::string_view part : split(message, '\n')) {
    if (!first) {
      line += "\n  ";
    }
    line += printable(part);
    first = false;
  }
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return;  // nobody is left to tell
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

bool colour_allowed(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') {
    return false;
  }
  const char* terminal = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

void print_error(std::string_view message) { print_line("\033[1;31m", "", message); }
void print_warning(std::string_view message) { print_line("\033[1;33m", " warning:", message); }
void print_note(std::string_view message) { print_line("", "", message); }

int report_error(const Error& error) {
  print_error(error.message());
  return error.exit_status();
}

}  // namespace kvet
