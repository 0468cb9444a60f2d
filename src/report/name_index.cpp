#include "report/name_index.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kvet::report {
namespace {

constexpr size_t gram = sizeof(uint32_t);

uint32_t gram_at(std::string_view text, size_t at) {
  uint32_t bytes = 0;
  std::memcpy(&bytes, text.data() + at, gram);
  return bytes;
}

}  // namespace

void NameIndex::add(std::string text, uint32_t id) {
  const auto index = static_cast<uint32_t>(texts_.size());
  for (size_t at = 0; at + gram <= text.size(); ++at) {
    std::vector<uint32_t>& texts = texts_with_[gram_at(text, at)];
    if (texts.empty() || texts.back() != index) {
      texts.push_back(index);
    }
  }
  texts_.push_back({std::move(text), id});
}

bool NameIndex::in_another(std::string_view literal, uint32_t own) const {
  const auto holds = [&](const Text& text) { return text.id != own && text.text.find(literal) != std::string::npos; };
  if (literal.size() < gram) {
    return std::ranges::any_of(texts_, holds);
  }
  const std::vector<uint32_t>* rarest = nullptr;
  for (size_t at = 0; at + gram <= literal.size(); ++at) {
    const auto texts = texts_with_.find(gram_at(literal, at));
    if (texts == texts_with_.end()) {
      return false;
    }
    if (rarest == nullptr || texts->second.size() < rarest->size()) {
      rarest = &texts->second;
    }
  }
  return std::ranges::any_of(*rarest, [&](uint32_t index) { return holds(texts_[index]); });
}

}  // namespace kvet::report
