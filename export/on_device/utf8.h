// UTF-8, as Unicode defines it (table 3-7, "Well-formed UTF-8 byte sequences").

#ifndef KERAS_BAHDANAU_UTF8_H_
#define KERAS_BAHDANAU_UTF8_H_

#include <cstddef>
#include <string_view>

namespace utf8 {

// Bytes of the character of UTF-8 that a text begins with; 0 if it begins with none.
inline size_t CharacterSize(std::string_view text) {
  const auto byte = [&](size_t place) {
    return place < text.size() ? static_cast<unsigned char>(text[place]) : 0u;
  };
  const unsigned first = byte(0);
  const size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (size_t place = 1; place < size; ++place) {
    if ((byte(place) & 0xc0) != 0x80) return 0;
  }
  // no character in more bytes than it needs, no half of a surrogate pair, none above U+10FFFF
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xff;
  return first > 0xf4 || (size > 1 && (byte(1) < least || byte(1) > most)) ? 0 : size;
}

// The place of the first byte that begins no character; the size of a text of UTF-8.
inline size_t FirstBadByte(std::string_view text) {
  size_t place = 0;
  for (size_t size = 1; place < text.size() && size > 0; place += size) {
    size = CharacterSize(text.substr(place));
  }
  return place;
}

// The first few characters of a text of UTF-8.
inline std::string_view FirstCharacters(std::string_view text, size_t count) {
  size_t place = 0;
  for (; count > 0 && place < text.size(); --count) {
    place += CharacterSize(text.substr(place));
  }
  return text.substr(0, place);
}

}  // namespace utf8

#endif  // KERAS_BAHDANAU_UTF8_H_
