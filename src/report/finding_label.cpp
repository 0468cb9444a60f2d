#include "report/finding_label.h"

#include <algorithm>
#include <iterator>

#include "base/safe_text.h"

namespace kvet::report {
namespace {

constexpr std::string_view acronyms[] = {"cpu", "gpu", "sm", "dram", "nccl"};

// Words between dots and underscores.
std::string in_words(std::string_view id) {
  std::string label, word;
  auto flush = [&] {
    if (std::find(std::begin(acronyms), std::end(acronyms), word) != std::end(acronyms)) {
      std::transform(word.begin(), word.end(), word.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    }
    label += (label.empty() || word.empty() ? "" : " ") + word;
    word.clear();
  };
  for (char c : id) {
    if (c == '.' || c == '_') {
      flush();
    } else {
      word += c;
    }
  }
  flush();
  return label;
}

}  // namespace

Stem stem_of(std::string_view id) {
  const size_t dot = id.rfind('.');
  if (dot != std::string_view::npos &&
      std::find(std::begin(statistics), std::end(statistics), id.substr(dot + 1)) != std::end(statistics)) {
    return {id.substr(0, dot), id.substr(dot + 1)};
  }
  return {id, ""};
}

std::string label_of(const Finding& finding) {
  std::string_view id = stem_of(finding.id).name;
  if (const size_t by = id.rfind(".by."); by != std::string_view::npos) {
    return "  " + safe_text(in_words(id.substr(by + 1)), 200);
  }
  // Findings about the capture itself are called quality.something, those about a kernel's time conditions.something.
  for (std::string_view question :
       {std::string_view(name(finding.question)), std::string_view("quality"), std::string_view("conditions")}) {
    if (id.starts_with(question) && id.size() > question.size() && id[question.size()] == '.') {
      id.remove_prefix(question.size() + 1);
      break;
    }
  }
  return safe_text(in_words(id), 200);
}

}  // namespace kvet::report
