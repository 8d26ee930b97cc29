// Reads an input file: returns its bytes, or throws a one-line error.

#ifndef KERAS_BAHDANAU_INPUT_FILE_H_
#define KERAS_BAHDANAU_INPUT_FILE_H_

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace on_device {

// Error for a wrong command line, model or input.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Quotes a text for an error.
inline std::string Quoted(std::string_view text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string quoted(1, quote);
  for (const char one : text) {
    const auto byte = static_cast<unsigned char>(one);
    if (byte < ' ') {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      quoted += escaped;
    } else {
      if (one == quote || one == '\\') quoted += '\\';
      quoted += one;
    }
  }
  return quoted + quote;
}

// Formats a number for an error: 16,000.
inline std::string Grouped(unsigned long long number) {
  const std::string digits = std::to_string(number);
  std::string grouped;
  for (size_t place = 0; place < digits.size(); ++place) {
    if (place > 0 && (digits.size() - place) % 3 == 0) grouped += ',';
    grouped += digits[place];
  }
  return grouped;
}

// Returns the bytes of a file, or one byte more than the limit if it is larger.
inline std::string ReadFile(const std::string& path, size_t limit) {
  constexpr size_t kChunk = 1 << 20;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  std::string content;
  bool readable = file != nullptr;
  for (size_t count = 1; readable && count > 0 && content.size() <= limit;) {
    const size_t size = content.size();
    content.resize(std::min(size + kChunk, limit + 1));
    count = std::fread(content.data() + size, 1, content.size() - size, file.get());
    content.resize(size + count);
    readable = !std::ferror(file.get());
  }
  if (!readable) {
    throw InputError("A file must be readable. Received: " + Quoted(path) + ": " +
                     std::strerror(errno) + ". Correct the name.");
  }
  return content;
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_INPUT_FILE_H_
