#include "base/gpu_name.h"

#include <algorithm>
#include <set>
#include <string>

namespace kvet {
namespace {

std::set<std::string> words_of(std::string_view name) {
  std::set<std::string> words;
  std::string word;
  auto flush = [&] {
    if (!word.empty() && word != "nvidia" && word != "amd" && word != "geforce" && word != "tesla") {
      words.insert(word);
    }
    word.clear();
  };
  for (char c : name) {
    if (c == ' ' || c == '_' || c == '-' || c == '/') {
      flush();
    } else {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  flush();
  return words;
}

}  // namespace

bool may_be_one_gpu(std::string_view one, std::string_view other) {
  const std::set<std::string> a = words_of(one), b = words_of(other);
  return std::ranges::includes(a, b) || std::ranges::includes(b, a);
}

}  // namespace kvet
