// Decodes a PNG file in memory with libpng, strictly: broken files are rejected.

#ifndef KERAS_BAHDANAU_PNG_FILE_H_
#define KERAS_BAHDANAU_PNG_FILE_H_

#include <png.h>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace on_device {

// Reads the header and then, if the caller accepts it, the pixels.
//
// After an error, libpng leaves a function by longjmp, so functions that call it hold no objects.
class PngFile {
 public:
  explicit PngFile(std::string_view content) : rest_(content), orientation_(Orientation(content)) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, Fail, [](png_structp, auto) {});
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
  }
  ~PngFile() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;

  // Both functions return false after an error.
  bool ReadHeader() {
    if (info_ == nullptr || setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, this, Read);
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // ignore text and time
    png_read_info(png_, info_);
    return true;
  }

  bool ReadPixels() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_expand(png_);  // palette, fewer than 8 bits and transparent color to RGBA
    png_set_strip_16(png_);
    png_set_gray_to_rgb(png_);
    png_set_add_alpha(png_, 0xff, PNG_FILLER_AFTER);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    const size_t row = png_get_rowbytes(png_, info_), high = png_get_image_height(png_, info_);
    pixels_.resize(row * high);
    for (size_t y = 0; y < high; ++y) rows_.push_back(pixels_.data() + y * row);
    png_read_image(png_, rows_.data());
    png_read_end(png_, nullptr);
    if (orientation_ > 1) SetUpright();
    return true;
  }

  // Size of the upright image: its eXIf chunk may say that it is stored rotated.
  size_t width() const { return is_turned() ? stored_height() : stored_width(); }
  size_t height() const { return is_turned() ? stored_width() : stored_height(); }

  // Pixels (height, width, 4): red, green, blue and alpha.
  const std::vector<uint8_t>& pixels() const { return pixels_; }
  const std::string& error() const { return error_; }

 private:
  [[noreturn]] static void Fail(png_structp png, png_const_charp message) {
    static_cast<PngFile*>(png_get_error_ptr(png))->error_ = message;
    png_longjmp(png, 1);
  }

  static void Read(png_structp png, png_bytep bytes, size_t size) {
    std::string_view& rest = static_cast<PngFile*>(png_get_io_ptr(png))->rest_;
    if (size > rest.size()) png_error(png, "its end is missing");
    std::memcpy(bytes, rest.data(), size);
    rest.remove_prefix(size);
  }

  size_t stored_width() const { return png_get_image_width(png_, info_); }
  size_t stored_height() const { return png_get_image_height(png_, info_); }
  bool is_turned() const { return orientation_ >= 5; }

  // Returns the EXIF orientation in the eXIf chunk; 1 (upright) if unknown.
  static int Orientation(std::string_view content) {
    using std::string_view_literals::operator""sv;
    const size_t begin = content.find("eXIf");
    if (begin == content.npos) return 1;
    const std::string_view camera = content.substr(begin + 4);
    const bool low_first = camera.starts_with("II");
    if (!low_first && !camera.starts_with("MM")) return 1;
    const size_t tag = camera.find(low_first ? "\x12\x01\x03\0\x01\0\0\0"sv
                                             : "\x01\x12\0\x03\0\0\0\x01"sv);
    const size_t number = tag + (low_first ? 8 : 9);
    if (tag == camera.npos || number >= camera.size()) return 1;
    return camera[number] >= 1 && camera[number] <= 8 ? camera[number] : 1;
  }

  // Rotates and mirrors the pixels.
  void SetUpright() {
    const std::vector<uint8_t> stored = pixels_;
    const auto one_of = [this](std::string_view orientations) {
      return orientations.find(static_cast<char>('0' + orientation_)) != orientations.npos;
    };
    for (size_t y = 0; y < height(); ++y) {
      for (size_t x = 0; x < width(); ++x) {
        const size_t column = one_of("2367") ? width() - 1 - x : x;
        const size_t row = one_of("3478") ? height() - 1 - y : y;
        const size_t from =
            is_turned() ? column * stored_width() + row : row * stored_width() + column;
        std::memcpy(pixels_.data() + (y * width() + x) * 4, stored.data() + from * 4, 4);
      }
    }
  }

  std::string_view rest_;
  int orientation_ = 1;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::vector<uint8_t> pixels_;
  std::vector<png_bytep> rows_;
  std::string error_ = "there is too little memory";
};

}  // namespace on_device

#endif  // KERAS_BAHDANAU_PNG_FILE_H_
