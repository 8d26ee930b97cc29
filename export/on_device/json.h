// Parses JSON (RFC 8259), strictly except for NaN and Infinity, which Python's json writes, and
// writes strings as JSON.

#ifndef KERAS_BAHDANAU_JSON_H_
#define KERAS_BAHDANAU_JSON_H_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "utf8.h"

namespace json {

class Value;
using Array = std::vector<Value>;
using Object = std::map<std::string, Value, std::less<>>;

// A JSON value: null, a bool, an integer, another number, a string, an array or an object.
class Value {
 public:
  Value() = default;
  template <typename T>
  explicit Value(T value) : value_(std::move(value)) {}

  // Returns the value if it has this type, or else a null pointer.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&value_);
  }

  // Returns the member with this name, or null if this is not an object or lacks it.
  const Value& operator[](std::string_view name) const {
    static const Value null;
    const auto* object = As<Object>();
    const auto found = object ? object->find(name) : Object::const_iterator();
    return object && found != object->end() ? found->second : null;
  }

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  // Parses a whole text. Throws std::invalid_argument if it is not valid JSON.
  Value Parse() {
    Require(utf8::FirstBadByte(rest_) == rest_.size());
    Value value = ParseValue(0);
    SkipSpace();
    Require(rest_.empty());
    return value;
  }

 private:
  static constexpr int kDeepest = 100;
  static constexpr char kDigits[] = "0123456789";

  static void Require(bool condition) {
    if (!condition) throw std::invalid_argument("it is not valid JSON");
  }

  void SkipSpace() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool Skip(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  char Next() {
    Require(!rest_.empty());
    const char next = rest_.front();
    rest_.remove_prefix(1);
    return next;
  }

  Value ParseValue(int depth) {
    Require(depth < kDeepest);
    SkipSpace();
    if (Skip("{")) return Value(ParseObject(depth));
    if (Skip("[")) return Value(ParseArray(depth));
    if (Skip("\"")) return Value(ParseString());
    if (Skip("true")) return Value(true);
    if (Skip("false")) return Value(false);
    if (Skip("null") || Skip("NaN") || Skip("Infinity") || Skip("-Infinity")) return Value();
    return ParseNumber();
  }

  Object ParseObject(int depth) {
    Object object;
    SkipSpace();
    if (Skip("}")) return object;
    do {
      SkipSpace();
      Require(Skip("\""));
      std::string name = ParseString();
      SkipSpace();
      Require(Skip(":"));
      object.insert_or_assign(std::move(name), ParseValue(depth + 1));
      SkipSpace();
    } while (Skip(","));
    Require(Skip("}"));
    return object;
  }

  Array ParseArray(int depth) {
    Array array;
    SkipSpace();
    if (Skip("]")) return array;
    do {
      array.push_back(ParseValue(depth + 1));
      SkipSpace();
    } while (Skip(","));
    Require(Skip("]"));
    return array;
  }

  std::string ParseString() {
    std::string text;
    for (char next = Next(); next != '"'; next = Next()) {
      Require(static_cast<unsigned char>(next) >= ' ');
      if (next != '\\') {
        text += next;
        continue;
      }
      const char escape = Next();
      const size_t place = std::string_view("\"\\/bfnrt").find(escape);
      if (place != std::string_view::npos) {
        text += "\"\\/\b\f\n\r\t"[place];
      } else {
        Require(escape == 'u');
        AppendUtf8(ParseUtf16(), text);
      }
    }
    return text;
  }

  // Reads a code point after "\u". Code points above U+FFFF consist of two escapes.
  uint32_t ParseUtf16() {
    const uint32_t high = ParseHex();
    if (high >> 10 != 0xd800 >> 10 || !rest_.starts_with("\\u")) return high;
    const std::string_view before = std::exchange(rest_, rest_.substr(2));
    const uint32_t low = ParseHex();
    if (low >> 10 == 0xdc00 >> 10) return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
    rest_ = before;
    return high;
  }

  uint32_t ParseHex() {
    uint32_t number = 0;
    Require(rest_.size() >= 4);
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, number, 16);
    Require(error == std::errc() && end == rest_.data() + 4);
    rest_.remove_prefix(4);
    return number;
  }

  static void AppendUtf8(uint32_t point, std::string& text) {
    const int more = (point > 0x7f) + (point > 0x7ff) + (point > 0xffff);  // bytes after the first
    constexpr uint32_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(kFirst[more] | point >> 6 * more);
    for (int left = more - 1; left >= 0; --left) {
      text += static_cast<char>(0x80 | (point >> 6 * left & 0x3f));
    }
  }

  Value ParseNumber() {
    const std::string text(rest_.substr(0, rest_.find_first_not_of("+-.0123456789Ee")));
    const size_t digits = text.starts_with("-");
    Require(text.size() > digits && text[digits] >= '0' && text[digits] <= '9');
    Require(text[digits] != '0' || text.find_first_of(kDigits, digits + 1) != digits + 1);
    const size_t point = text.find('.');
    Require(point == text.npos || text.find_first_of(kDigits, point) == point + 1);
    rest_.remove_prefix(text.size());
    int64_t integer = 0;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, integer);
    if (error == std::errc() && end == last) return Value(integer);
    char* stop = nullptr;
    const double number = std::strtod(text.c_str(), &stop);
    Require(stop == last);
    return Value(number);
  }

  std::string_view rest_;
};

inline Value Parse(std::string_view text) { return Parser(text).Parse(); }

// Writes a UTF-8 text as a JSON string.
inline std::string Quoted(std::string_view text) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  std::string quoted = "\"";
  for (const char one : text) {
    const size_t place = kShort.find(one);
    if (place != kShort.npos) {
      quoted += {'\\', kLetters[place]};
    } else if (static_cast<unsigned char>(one) < ' ') {
      char escape[7];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(one));
      quoted += escape;
    } else {
      quoted += one;
    }
  }
  return quoted + '"';
}

}  // namespace json

#endif  // KERAS_BAHDANAU_JSON_H_
