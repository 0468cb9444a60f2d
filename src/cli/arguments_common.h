// What the definitions of several commands share. Only arguments*.cpp may include this: CLI11 is a heavy header.
#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"

namespace kvet::cli {

// What a callback found wrong beyond what CLI11 checks; carried through CLI11 as its own exception.
[[noreturn]] inline void refuse(const Error& error) { throw CLI::ValidationError(error.message()); }

template <class T>
T value_or_refuse(const Result<T>& result) {
  if (!result) {
    refuse(result.error());
  }
  return *result;
}

template <class Store>
CLI::Option* add_duration(CLI::App& app, const std::string& name, Store store, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name, [store, name](const std::string& text) { store(value_or_refuse(parse_duration_ns(text, name))); }, help)
      ->type_name("TIME");
}

template <class Choice>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Choice& into, std::map<std::string, Choice> choices,
                        const std::string& type, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&into, choices = std::move(choices), name, type](const std::string& text) {
            auto found = choices.find(text);
            if (found == choices.end()) {
              refuse({ErrorKind::usage, "'" + text + "' is none of " + type, name, ""});
            }
            into = found->second;
          },
          help)
      ->type_name(type);
}

inline void add_kernels(CLI::App& app, std::vector<std::string>& into, const std::string& otherwise) {
  app.add_option("--kernel", into, "Pattern of the kernel's name; may be given several times. Without it: " + otherwise)
      ->type_name("RE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// -o, of which an empty name is a variable of the shell's that is not set: it would be taken for no -o at all.
inline CLI::Option* add_output(CLI::App& app, std::string& into, const std::string& help) {
  return app.add_option_function<std::string>(
      "-o,--output",
      [&into](const std::string& name) {
        if (name.empty()) {
          refuse({ErrorKind::usage, "is empty", "-o", "Give the output a name"});
        }
        into = name;
      },
      help);
}

inline void add_json(CLI::App& app, bool& into) { app.add_flag("--json", into, "JSON on stdout instead of text"); }

// --format, and --json as its short form.
template <class Choice>
void add_format(CLI::App& app, Choice& into, std::map<std::string, Choice> choices, const std::string& type) {
  CLI::Option* format =
      add_choice<Choice>(app, "--format", into, std::move(choices), type, "What to print on stdout. Default: text");
  app.add_flag_callback("--json", [&into] { into = Choice::json; }, "The same as --format json")->excludes(format);
}

}  // namespace kvet::cli
