#include "import/json_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

namespace kvet::importing {
namespace {

// Gives a text in pieces, so that every token meets the end of a window somewhere.
class Pieces final : public ByteSource {
 public:
  Pieces(std::string text, size_t piece) : text_(std::move(text)), piece_(piece) {}
  Result<size_t> read(std::span<char> into) override {
    const size_t count = std::min({piece_, into.size(), text_.size() - at_});
    std::copy_n(text_.data() + at_, count, into.data());
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  size_t piece_, at_ = 0;
};

// What was read, in a form of its own: k=key, t=text, n=number, and brackets.
void describe(JsonReader& reader, std::string& out) {
  switch (reader.peek()) {
    case '{': {
      out += "{";
      std::string_view key;
      for (reader.open_object(); reader.next_key(key);) {
        out += "k" + std::string(key) + " ";
        describe(reader, out);
      }
      out += "}";
      return;
    }
    case '[':
      out += "[";
      for (reader.open_array(); reader.next_element();) {
        describe(reader, out);
      }
      out += "]";
      return;
    case '"': out += "t" + std::string(reader.string()) + " "; return;
    case 't':
    case 'f':
    case 'n':
      reader.skip_value();
      out += "w ";
      return;
    default: out += "n" + std::string(reader.number()) + " ";
  }
}

std::string read_in_pieces(const std::string& text, size_t piece) {
  Pieces source(text, piece);
  JsonReader reader(source);
  std::string out;
  describe(reader, out);
  reader.end();
  return out;
}

JsonFault fault_of(const std::string& text, bool skip = false) {
  Pieces source(text, 1 << 20);
  JsonReader reader(source);
  try {
    if (skip) {
      reader.skip_value();
    } else {
      std::string out;
      describe(reader, out);
    }
    reader.end();
  } catch (const JsonFault& fault) {
    return fault;
  }
  ADD_FAILURE() << "no fault in " << text;
  return {"", 0};
}

TEST(JsonReader, ReadsEveryKindInPiecesOfEverySize) {
  const std::string text =
      R"( {"a": [1, -2.5e+3, {}, [], ""], "b":{"c":"x\"y\\z\n\u00e9\ud83d\ude00"}, "d" : true,"e":null , "ü":"ü" } )";
  const std::string expected = "{ka [n1 n-2.5e+3 {}[]t ]kb {kc tx\"y\\z\n\u00e9\U0001F600 }kd w ke w kü tü }";
  for (const size_t piece : {1, 2, 3, 7, 63, 64, 65, 4096}) {
    EXPECT_EQ(read_in_pieces(text, piece), expected) << piece;
  }
}

TEST(JsonReader, ReadsTextsLongerThanAWindow) {
  const std::string longest(1'000'000, 'x');
  EXPECT_EQ(read_in_pieces("[\"" + longest + "\"]", 100'000), "[t" + longest + " ]");
}

TEST(JsonReader, SkipsWhatBracketsInTextsAndEscapesDisguise) {
  // A bracket in a text, quotation marks escaped, backslashes before the closing mark: at every offset of a block.
  for (size_t shift = 0; shift < 130; ++shift) {
    const std::string text =
        "{\"s\":" + std::string(shift, ' ') + R"({"}]\"}": ["\\", "\\\"]", {"a":"[{\\\\"}, [[]]]},"after":7})";
    for (const size_t piece : {1, 64, 4096}) {
      Pieces source(text, piece);
      JsonReader reader(source);
      std::string_view key;
      reader.open_object();
      ASSERT_TRUE(reader.next_key(key));
      reader.skip_value();
      ASSERT_TRUE(reader.next_key(key)) << shift;
      EXPECT_EQ(key, "after");
      EXPECT_EQ(reader.number(), "7");
      EXPECT_FALSE(reader.next_key(key));
      reader.end();
    }
  }
}

TEST(JsonReader, SkipsTheRestOfAnObject) {
  Pieces source(R"([{"a":1,"b":{"c":"}"},"d":[1,2]},{"e":2},{}])", 5);
  JsonReader reader(source);
  std::string_view key;
  reader.open_array();
  ASSERT_TRUE(reader.next_element());
  reader.open_object();
  ASSERT_TRUE(reader.next_key(key));
  EXPECT_EQ(reader.number(), "1");
  reader.skip_rest();
  ASSERT_TRUE(reader.next_element());
  reader.open_object();
  ASSERT_TRUE(reader.next_key(key));
  EXPECT_EQ(key, "e");
  reader.skip_value();
  EXPECT_FALSE(reader.next_key(key));
  ASSERT_TRUE(reader.next_element());
  reader.skip_value();
  EXPECT_FALSE(reader.next_element());
  reader.end();
}

TEST(JsonReader, FaultsNameThePosition) {
  EXPECT_EQ(fault_of("[1, NaN]").position, 4u);
  EXPECT_EQ(fault_of("[01]").position, 1u);
  EXPECT_EQ(fault_of("[1.]").position, 1u);
  EXPECT_EQ(fault_of("[1e]").position, 1u);
  EXPECT_EQ(fault_of("[-]").position, 1u);
  EXPECT_EQ(fault_of("[1 2]").position, 3u);
  EXPECT_EQ(fault_of("[1,]").position, 3u);
  EXPECT_EQ(fault_of("{\"a\" 1}").position, 5u);
  EXPECT_EQ(fault_of("{\"a\":1,}").position, 7u);
  EXPECT_EQ(fault_of("[1] x").position, 4u);
  EXPECT_EQ(fault_of("[\"a\x01\"]").position, 3u);
  EXPECT_EQ(fault_of("[\"ab\xff\"]").position, 4u);
  EXPECT_EQ(fault_of("[\"\xed\xa0\x80\"]").position, 2u);  // a surrogate
  EXPECT_EQ(fault_of("[\"\xc0\x80\"]").position, 2u);      // overlong
  fault_of(R"(["\x"])");
  fault_of(R"(["\u12g4"])");
}

TEST(JsonReader, WhatIsCutShortIsSaidToBe) {
  const std::string whole = R"({"a":[1,{"b":"text"}],"c":12})";
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    for (const bool skip : {false, true}) {
      const JsonFault fault = fault_of(cut, skip);
      EXPECT_LE(fault.position, length) << cut;
      EXPECT_NE(std::string(fault.what()).find("ends in the middle"), std::string::npos) << cut;
    }
  }
  EXPECT_NE(std::string(fault_of("[\"abc").what()).find("middle of a text"), std::string::npos);
  EXPECT_NE(std::string(fault_of("[1,").what()).find("ends in the middle"), std::string::npos);
}

TEST(JsonReader, DepthIsBounded) {
  const std::string deep = std::string(5000, '[');
  EXPECT_NE(std::string(fault_of(deep).what()).find("deeper than 1000"), std::string::npos);
  EXPECT_NE(std::string(fault_of(deep, true).what()).find("deeper than 1000"), std::string::npos);
  EXPECT_EQ(read_in_pieces(std::string(900, '[') + std::string(900, ']'), 100),
            std::string(900, '[') + std::string(900, ']'));
}

TEST(JsonReader, ATokenIsBounded) {
  std::string text = "[\"";
  for (int mebibyte = 0; mebibyte < 40; ++mebibyte) {
    text.append(size_t{1} << 20, 'x');
  }
  EXPECT_NE(std::string(fault_of(text).what()).find("longer than 16 MiB"), std::string::npos);
}

}  // namespace
}  // namespace kvet::importing
