// UTF-8 as defined by Unicode (table 3-7, "Well-Formed UTF-8 Byte Sequences").

#ifndef KERAS_BAHDANAU_UTF8_H_
#define KERAS_BAHDANAU_UTF8_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

namespace utf8 {

// Returns the number of bytes of the first UTF-8 character; 0 if it is not valid.
inline size_t CharacterSize(std::string_view text) {
  const auto byte = [&](size_t place) {
    return place < text.size() ? static_cast<unsigned char>(text[place]) : 0u;
  };
  const unsigned first = byte(0);
  const size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (size_t place = 1; place < size; ++place) {
    if ((byte(place) & 0xc0) != 0x80) return 0;
  }
  // reject overlong forms, surrogates, and code points above U+10FFFF
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xff;
  return first > 0xf4 || (size > 1 && (byte(1) < least || byte(1) > most)) ? 0 : size;
}

// Returns the position of the first invalid byte, or the size of a valid UTF-8 text.
inline size_t FirstBadByte(std::string_view text) {
  size_t place = 0;
  for (size_t size = 1; place < text.size() && size > 0; place += size) {
    size = CharacterSize(text.substr(place));
  }
  return place;
}

// Returns the first few characters of a UTF-8 text.
inline std::string_view FirstCharacters(std::string_view text, size_t count) {
  size_t place = 0;
  for (; count > 0 && place < text.size(); --count) {
    place += CharacterSize(text.substr(place));
  }
  return text.substr(0, place);
}

// Returns the code point of the first character of a UTF-8 text.
inline char32_t CodePoint(std::string_view text) {
  const auto byte = [text](size_t place) -> char32_t {
    return static_cast<unsigned char>(text[place]);
  };
  const size_t size = CharacterSize(text);
  char32_t code = size < 2 ? byte(0) : byte(0) & (0xffu >> (size + 1));
  for (size_t place = 1; place < size; ++place) code = code << 6 | (byte(place) & 0x3fu);
  return code;
}

// Returns true if a UTF-8 text contains only control characters, white space and invisible
// characters: Unicode's White_Space, and Default_Ignorable_Code_Point in the first plane, such as
// U+200B and U+FEFF.
inline bool IsBlank(std::string_view text) {
  constexpr std::pair<char32_t, char32_t> kInvisible[] = {
      {0x00, 0x20},     {0x7f, 0xa0},     {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},
      {0x115f, 0x1160}, {0x1680, 0x1680}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x2000, 0x200f},
      {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},
      {0xfeff, 0xfeff}, {0xffa0, 0xffa0}};
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) return false;
    const char32_t code = CodePoint(text);
    const auto holds = [code](const auto& range) {
      return range.first <= code && code <= range.second;
    };
    if (std::none_of(std::begin(kInvisible), std::end(kInvisible), holds)) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace utf8

#endif  // KERAS_BAHDANAU_UTF8_H_
