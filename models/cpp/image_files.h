#pragma once
// PNG and JPEG files as tensors, through libpng and libjpeg.

#include <torch/torch.h>

// jpeglib.h uses FILE and size_t without including them.
#include <cstdio>

#include <jpeglib.h>
#include <png.h>

#include <csetjmp>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace image_files {

/// An error in a file, with its name.
struct ImageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::vector<unsigned char> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ImageError(path + ": cannot be opened.");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// uint8 [height, width, 3] of a PNG; transparency and grey become RGB.
inline at::Tensor decode_png(const std::vector<unsigned char>& bytes, const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    throw ImageError(path + ": " + image.message + ".");
  }
  image.format = PNG_FORMAT_RGB;
  at::Tensor pixels = torch::empty({image.height, image.width, 3}, at::kByte);
  const png_color black{};
  if (png_image_finish_read(&image, &black, pixels.mutable_data_ptr(), 0, nullptr) == 0) {
    throw ImageError(path + ": " + image.message + ".");
  }
  return pixels;
}

/// libjpeg reports errors by a function that may not return.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] inline void jpeg_failed(j_common_ptr decoder) {
  auto* errors = reinterpret_cast<JpegErrors*>(decoder->err);
  decoder->err->format_message(decoder, errors->message);
  std::longjmp(errors->back, 1);
}

/// Decodes into `pixels`, which it allocates through `allocate(height, width)`. No object with a
/// destructor lives here, because of longjmp.
template <typename Allocate>
bool jpeg_into(const unsigned char* bytes, size_t count, JpegErrors& errors,
               const Allocate& allocate) {
  jpeg_decompress_struct decoder;
  decoder.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = jpeg_failed;
  jpeg_create_decompress(&decoder);
  if (setjmp(errors.back) != 0) {
    jpeg_destroy_decompress(&decoder);
    return false;
  }
  jpeg_mem_src(&decoder, bytes, count);
  jpeg_read_header(&decoder, TRUE);
  decoder.out_color_space = JCS_RGB;
  jpeg_start_decompress(&decoder);
  unsigned char* pixels = allocate(decoder.output_height, decoder.output_width);
  const size_t pitch = size_t{3} * decoder.output_width;
  while (decoder.output_scanline < decoder.output_height) {
    unsigned char* row = pixels + pitch * decoder.output_scanline;
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  jpeg_finish_decompress(&decoder);
  jpeg_destroy_decompress(&decoder);
  return true;
}

/// uint8 [height, width, 3] of a JPEG.
inline at::Tensor decode_jpeg(const std::vector<unsigned char>& bytes, const std::string& path) {
  JpegErrors errors{};
  at::Tensor pixels;
  const auto allocate = [&pixels](unsigned height, unsigned width) {
    pixels = torch::empty({height, width, 3}, at::kByte);
    return pixels.mutable_data_ptr<unsigned char>();
  };
  if (!jpeg_into(bytes.data(), bytes.size(), errors, allocate)) {
    throw ImageError(path + ": " + errors.message + ".");
  }
  return pixels;
}

/// float32 [3, height, width] in 0..1. ImageError names a file that is neither, or damaged.
inline at::Tensor read(const std::string& path) {
  const std::vector<unsigned char> bytes = read_bytes(path);
  const bool png = bytes.size() > 8 && png_sig_cmp(bytes.data(), 0, 8) == 0;
  const bool jpeg = bytes.size() > 2 && bytes[0] == 0xff && bytes[1] == 0xd8;
  if (!png && !jpeg) throw ImageError(path + ": neither a PNG nor a JPEG file.");
  const at::Tensor pixels = png ? decode_png(bytes, path) : decode_jpeg(bytes, path);
  return pixels.permute({2, 0, 1}).to(at::kFloat).div(255).contiguous();
}

/// The centre of the image as ImageNet networks take it: the shorter side scaled to 8/7 of `size`,
/// a square of `size` pixels cut out, mean and deviation of the three colours removed.
inline at::Tensor prepare(const at::Tensor& image, int64_t size) {
  const int64_t height = image.size(1), width = image.size(2);
  const int64_t shorter = std::min(height, width), scaled = (size * 8 + 6) / 7;
  const std::vector<int64_t> sizes = {std::max(size, height * scaled / shorter),
                                      std::max(size, width * scaled / shorter)};
  const at::Tensor resized =
      at::_upsample_bilinear2d_aa(image.unsqueeze(0), sizes, /*align_corners=*/false);
  const at::Tensor square = resized.slice(2, (sizes[0] - size) / 2, (sizes[0] - size) / 2 + size)
                                .slice(3, (sizes[1] - size) / 2, (sizes[1] - size) / 2 + size);
  const at::Tensor mean = torch::tensor({0.485, 0.456, 0.406}).view({1, 3, 1, 1});
  const at::Tensor deviation = torch::tensor({0.229, 0.224, 0.225}).view({1, 3, 1, 1});
  return ((square - mean) / deviation).contiguous();
}

}  // namespace image_files
