// Replaces unknown tokens by characters of the source, with the same spaces as copying.py.

#ifndef KERAS_BAHDANAU_COPYING_H_
#define KERAS_BAHDANAU_COPYING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "utf8.h"

namespace on_device {

constexpr std::string_view kMark = "\u2581";  // SentencePiece's mark for a space
constexpr std::string_view kSpaces =          // the mark, ASCII white space, and Unicode separators
    "\u2581\t\n\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000";

// The `Surface` of each token in a source.
using Surfaces = std::vector<std::string>;

// Replaces each run of some characters in a UTF-8 text by one space, and removes it at the ends.
inline std::string Spaced(std::string_view text, std::string_view characters) {
  std::string spaced;
  bool after = false;  // whether the last character was one of them
  while (!text.empty()) {
    const std::string_view one = text.substr(0, std::max<size_t>(utf8::CharacterSize(text), 1));
    const bool space = characters.find(one) != characters.npos;
    if (!(space && after)) spaced += space ? " " : one;
    after = space;
    text.remove_prefix(one.size());
  }
  constexpr std::string_view kAscii = " \t\n\v\f\r";
  spaced.erase(spaced.find_last_not_of(kAscii) + 1);
  return spaced.erase(0, spaced.find_first_not_of(kAscii));
}

// Returns what an unknown token may copy from the part of the source for a token.
inline std::string Surface(std::string_view part) {
  part = part.substr(0, 512);  // the maximum number of bytes
  return Spaced(part.substr(0, utf8::FirstBadByte(part)), kSpaces);
}

// Returns the surface at a position of the source; U+2047 if it is blank, or the position is -1.
inline std::string Copied(const Surfaces& surfaces, int32_t position) {
  const size_t place = static_cast<size_t>(position);
  return position < 0 || place >= surfaces.size() || surfaces[place].empty() ? "\u2047"
                                                                             : surfaces[place];
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_COPYING_H_
