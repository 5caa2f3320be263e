#pragma once
// A JSON reader, for the graphs that torch.export.save writes.

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace json {

/// Text that is not JSON, or a value of an unexpected kind.
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Value;
using Array = std::vector<Value>;
using Object = std::map<std::string, Value>;

/// null, a boolean, an integer, another number, a string, an array or an object.
class Value {
 public:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> content;

  bool is_null() const { return std::holds_alternative<std::monostate>(content); }
  bool boolean() const { return as<bool>("true or false"); }
  int64_t integer() const { return as<int64_t>("a whole number"); }
  const std::string& text() const { return as<std::string>("a text"); }
  const Array& array() const { return as<Array>("an array"); }
  const Object& object() const { return as<Object>("an object"); }
  /// Any number; torch writes infinities and NaN as strings.
  double number() const {
    if (const auto* whole = std::get_if<int64_t>(&content)) return static_cast<double>(*whole);
    if (const auto* word = std::get_if<std::string>(&content)) {
      return std::strtod(word->c_str(), nullptr);
    }
    return as<double>("a number");
  }
  bool has(const std::string& key) const { return object().count(key) > 0; }
  /// JsonError when the object has no such key.
  const Value& operator[](const std::string& key) const {
    const auto found = object().find(key);
    if (found == object().end()) throw JsonError("JSON object without '" + key + "'");
    return found->second;
  }

 private:
  template <typename Kind>
  const Kind& as(const char* expected) const {
    const Kind* value = std::get_if<Kind>(&content);
    if (value == nullptr) throw JsonError(std::string("JSON value is not ") + expected);
    return *value;
  }
};

/// Parses one text in a single pass.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Value read() {
    Value value = read_value();
    skip_spaces();
    if (at_ != text_.size()) fail("text after the end");
    return value;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw JsonError(std::string("JSON: ") + what + " at byte " + std::to_string(at_));
  }
  void skip_spaces() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  char next() {
    skip_spaces();
    if (at_ == text_.size()) fail("unexpected end");
    return text_[at_];
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void expect(char character) {
    if (next() != character) fail("unexpected character");
    ++at_;
  }

  Value read_value() {
    const char first = next();
    if (first == '{') return {read_object()};
    if (first == '[') return {read_array()};
    if (first == '"') return {read_text()};
    if (take("null")) return {};
    if (take("true")) return {true};
    if (take("false")) return {false};
    return read_number();
  }
  Object read_object() {
    Object object;
    expect('{');
    while (next() != '}') {
      if (!object.empty()) expect(',');
      next();
      std::string key = read_text();
      expect(':');
      object.emplace(std::move(key), read_value());
    }
    expect('}');
    return object;
  }
  Array read_array() {
    Array array;
    expect('[');
    while (next() != ']') {
      if (!array.empty()) expect(',');
      array.push_back(read_value());
    }
    expect(']');
    return array;
  }
  Value read_number() {
    // Python writes NaN, Infinity and -Infinity.
    size_t end = at_;
    while (end < text_.size() && std::string_view(",]} \t\r\n").find(text_[end]) == text_.npos) {
      ++end;
    }
    const std::string word(text_.substr(at_, end - at_));
    char* stop = nullptr;
    const bool whole = word.find_first_not_of("-0123456789") == std::string::npos;
    Value value;
    if (whole) {
      value.content = static_cast<int64_t>(std::strtoll(word.c_str(), &stop, 10));
    } else {
      value.content = std::strtod(word.c_str(), &stop);
    }
    if (word.empty() || *stop != '\0') fail("unknown word");
    at_ = end;
    return value;
  }
  std::string read_text() {
    expect('"');
    std::string text;
    while (at_ < text_.size() && text_[at_] != '"') {
      text += text_[at_] == '\\' ? read_escape() : std::string(1, text_[at_]);
      ++at_;
    }
    if (at_ == text_.size()) fail("unexpected end of a text");
    ++at_;
    return text;
  }
  /// The character after a backslash; at_ is left on its last one.
  std::string read_escape() {
    if (++at_ == text_.size()) fail("unexpected end of a text");
    static constexpr std::string_view kNames = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
    const size_t name = kNames.find(text_[at_]);
    if (name != kNames.npos) return std::string(1, kCharacters[name]);
    if (text_[at_] != 'u' || at_ + 4 >= text_.size()) fail("unknown escape");
    const std::string digits(text_.substr(at_ + 1, 4));
    at_ += 4;
    return utf8(static_cast<unsigned>(std::strtoul(digits.c_str(), nullptr, 16)));
  }
  static std::string utf8(unsigned code) {
    if (code < 0x80) return {static_cast<char>(code)};
    if (code < 0x800) {
      return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    }
    return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
            static_cast<char>(0x80 | (code & 0x3f))};
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// The value of the JSON `text`.
inline Value parse(std::string_view text) { return Reader(text).read(); }

}  // namespace json
