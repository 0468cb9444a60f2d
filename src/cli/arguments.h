// The command line. Only arguments.cpp knows the library that parses it.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace kvet::cli {

struct Invocation {
  const Command* command = nullptr;
  Options options;
};

// Help or the version was asked for: the text for stdout.
struct Answer {
  std::string text;
};

// Only the given commands are offered. Errors are usage (exit status 64).
Result<std::variant<Invocation, Answer>> parse_arguments(std::span<const char* const> arguments,
                                                         std::span<const Command> commands);

}  // namespace kvet::cli
