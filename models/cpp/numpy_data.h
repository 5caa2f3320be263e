#pragma once
// NumPy's random numbers and data files, for programs that share data with NumPy scripts.

#include <torch/torch.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <stdexcept>

namespace numpy_data {

/// A user error: a wrong argument, or a file that is missing or has the wrong size.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The streams of numpy.random.rand and numpy.random.randn: MT19937, 53 bits per number, normal
/// numbers in pairs by the polar method.
class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed) : bits_(seed) {}

  at::Tensor rand(at::IntArrayRef sizes) {
    return filled(sizes, [&] { return uniform(); });
  }
  /// Normal numbers times 0.01, as the course scales its weights.
  at::Tensor small_randn(at::IntArrayRef sizes) {
    return filled(sizes, [&] { return normal() * 0.01; });
  }

 private:
  template <typename Next>
  static at::Tensor filled(at::IntArrayRef sizes, const Next& next) {
    at::Tensor tensor = at::empty(sizes);
    float* values = tensor.mutable_data_ptr<float>();
    for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = static_cast<float>(next());
    return tensor;
  }
  double uniform() {
    const auto high = static_cast<double>(bits_() >> 5), low = static_cast<double>(bits_() >> 6);
    return (high * 0x1p26 + low) * 0x1p-53;
  }
  double normal() {
    if (second_) {
      const double value = *second_;
      second_.reset();
      return value;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    second_ = factor * x;
    return factor * y;
  }

  std::mt19937 bits_;
  std::optional<double> second_;
};

/// The tensor in a file.
inline at::Tensor read(const std::filesystem::path& path, at::IntArrayRef sizes,
                       at::ScalarType dtype) {
  at::Tensor tensor = at::empty(sizes, dtype);
  const auto expected = static_cast<uintmax_t>(tensor.nbytes());
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) throw UsageError(c10::str(path.string(), ": ", error.message(), "."));
  if (bytes != expected) {
    throw UsageError(c10::str(path.string(), " has ", bytes, " bytes, expected ", expected, " for ",
                              sizes, " ", dtype == at::kInt ? "int32" : "float32", "."));
  }
  std::ifstream file(path, std::ios::binary);
  file.read(static_cast<char*>(tensor.mutable_data_ptr()), static_cast<std::streamsize>(bytes));
  if (!file) throw UsageError(c10::str(path.string(), " could not be read."));
  return tensor;
}

inline void write(const std::filesystem::path& path, const at::Tensor& tensor) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(tensor.const_data_ptr()),
             static_cast<std::streamsize>(tensor.nbytes()));
  file.close();
  if (!file) throw UsageError(c10::str(path.string(), " could not be written."));
}

}  // namespace numpy_data
