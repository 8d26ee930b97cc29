// Characters of a source in the place of unknown tokens, with spaces as copying.py writes them.

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

constexpr std::string_view kMark = "\u2581";  // SentencePiece's own mark of a space
constexpr std::string_view kSpaces =          // it, white space of ASCII, and Unicode's separators
    "\u2581\t\n\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000";

// For each token of a source its `Surface`.
using Surfaces = std::vector<std::string>;

// A text of UTF-8 with one space for each run of some characters, and none at its ends.
inline std::string Spaced(std::string_view text, std::string_view characters) {
  std::string spaced;
  bool after = false;  // such a character
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

// What an unknown token may copy of the part of a source that a token stands for.
inline std::string Surface(std::string_view part) {
  part = part.substr(0, 512);  // bytes at most
  return Spaced(part.substr(0, utf8::FirstBadByte(part)), kSpaces);
}

// The surface at a position of the source, -1 for none; U+2047 if it is blank, or there is none.
inline std::string Copied(const Surfaces& surfaces, int32_t position) {
  const size_t place = static_cast<size_t>(position);
  return position < 0 || place >= surfaces.size() || surfaces[place].empty() ? "\u2047"
                                                                             : surfaces[place];
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_COPYING_H_
