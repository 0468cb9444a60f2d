// Which of many texts contain a literal, without reading them all: each text is listed under every four bytes that stand in
// it one after another, and only those under the literal's rarest four are read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvet::report {

class NameIndex {
 public:
  // The id is the caller's; several texts may share one.
  void add(std::string text, uint32_t id);
  // Does a text of another id than `own` contain it? An empty literal is in every text.
  [[nodiscard]] bool in_another(std::string_view literal, uint32_t own) const;

 private:
  struct Text {
    std::string text;
    uint32_t id;
  };
  std::vector<Text> texts_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> texts_with_;  // by four bytes: indices of texts, ascending
};

}  // namespace kvet::report
