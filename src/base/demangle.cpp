#include "base/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

// libstdc++'s demangler in its streaming form. It is in the static archive (beside __cxa_demangle, in one object), not
// among the exports of the shared library: hence weak. With it an expansion can be stopped, see demangle().
extern "C" __attribute__((weak)) int __gcclibcxx_demangle_callback(const char*, void (*)(const char*, size_t, void*),
                                                                   void*);

namespace kvet {
namespace {

constexpr size_t longest_output = 64 * 1024;

// "<length><identifier>" at the front of `text`, which is moved past it; empty where there is none.
std::string_view take_identifier(std::string_view& text) {
  size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const auto digits = static_cast<size_t>(end - text.data());
  if (error != std::errc{} || length == 0 || length > text.size() - digits) {
    return {};
  }
  const std::string_view identifier = text.substr(digits, length);
  text.remove_prefix(digits + length);
  return identifier;
}

// The qualified name in front of the first template argument: Itanium C++ ABI, 5.1.2 to 5.1.6, as far as names of
// functions go: _Z [L] (N [qualifiers] (source-name | St)+ | [St] source-name).
std::string qualified_name(std::string_view symbol) {
  std::string_view rest = symbol.substr(2);
  const bool nested = rest.starts_with('N');
  if (nested) {
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of("rVKRO"), rest.size()));
  }
  std::string name;
  for (;;) {
    if (rest.starts_with('L')) {
      rest.remove_prefix(1);
    }
    std::string_view part;
    if (rest.starts_with("St")) {
      part = "std";
      rest.remove_prefix(2);
    } else {
      part = take_identifier(rest);
    }
    if (part.empty()) {
      break;
    }
    if (part.starts_with("_GLOBAL__N_")) {
      part = "(anonymous namespace)";
    }
    name += name.empty() ? "" : "::";
    name += part;
    if (!nested && part != "std") {
      break;
    }
  }
  if (name.empty()) {
    return std::string(symbol);
  }
  return rest.starts_with('I') ? name + "<...>" : name;
}

struct OutputTooLong {};

// Empty: not a mangled name, or too much for the demangler.
std::string full_name(const std::string& symbol) {
  if (__gcclibcxx_demangle_callback != nullptr) {
    std::string out;
    auto append = [](const char* text, size_t size, void* into) {
      auto& all = *static_cast<std::string*>(into);
      all.append(text, size);
      if (all.size() > longest_output) {
        throw OutputTooLong{};  // passes through C frames, which own nothing but stack
      }
    };
    try {
      return __gcclibcxx_demangle_callback(symbol.c_str(), append, &out) == 0 ? out : std::string{};
    } catch (const OutputTooLong&) {
      return {};
    }
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? std::string(text.get()) : std::string{};
}

}  // namespace

std::string demangle(std::string_view symbol) {
  if (!symbol.starts_with("_Z") || symbol.find('\0') != std::string_view::npos) {
    return std::string(symbol);
  }
  std::string text = full_name(std::string(symbol));
  return text.empty() ? qualified_name(symbol) : text;
}

}  // namespace kvet
