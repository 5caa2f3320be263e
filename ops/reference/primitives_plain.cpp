// The primitives as loops in double precision, where oneDNN publishes no wheel: on arm64.

#include <vector>

#include "ops/reference/plain_functions.h"
#include "ops/reference/primitives.h"

namespace neuron_sim::reference {
namespace {

void apply_function(float* data, int64_t rows, int64_t features, const std::string& name) {
  if (name == "identity") return;
  if (name == "softmax") {
    for (int64_t row = 0; row < rows; ++row) plain_softmax(data + row * features, features);
    return;
  }
  for (int64_t i = 0; i < rows * features; ++i) {
    data[i] = static_cast<float>(plain_function(name, data[i]));
  }
}

/// One sum: of the taps that lie within the image, at row y and column x of the result.
float convolved(const float* image, const float* taps, double sum, const ConvolutionSize& size,
                int64_t y, int64_t x) {
  const ConvolutionAxis &rows = size.rows, &columns = size.columns;
  for (int64_t channel = 0; channel < size.channels / size.groups; ++channel) {
    for (int64_t i = 0; i < rows.kernel; ++i) {
      const int64_t row = y * rows.stride - rows.padding + i * rows.dilation;
      if (row < 0 || row >= rows.extent) continue;
      const float* line = image + (channel * rows.extent + row) * columns.extent;
      const float* weights = taps + (channel * rows.kernel + i) * columns.kernel;
      for (int64_t j = 0; j < columns.kernel; ++j) {
        const int64_t column = x * columns.stride - columns.padding + j * columns.dilation;
        if (column >= 0 && column < columns.extent) sum += double{weights[j]} * line[column];
      }
    }
  }
  return static_cast<float>(sum);
}

/// [images, filters, convolved rows, convolved columns].
void convolve_only(const float* input, const float* weight, const float* bias, float* out,
                   const ConvolutionSize& size) {
  const ConvolutionAxis &rows = size.rows, &columns = size.columns;
  const int64_t channels = size.channels / size.groups, filters = size.filters / size.groups;
  for (int64_t image = 0; image < size.images; ++image) {
    for (int64_t filter = 0; filter < size.filters; ++filter) {
      const int64_t channel = image * size.channels + filter / filters * channels;
      const float* from = input + channel * rows.extent * columns.extent;
      const float* taps = weight + filter * channels * rows.kernel * columns.kernel;
      for (int64_t y = 0; y < rows.convolved(); ++y) {
        for (int64_t x = 0; x < columns.convolved(); ++x) {
          *out++ = convolved(from, taps, bias[filter], size, y, x);
        }
      }
    }
  }
}

/// NaN is the maximum of its window, as of torch's and of the chip's.
void pool_maximum(const float* input, float* out, const ConvolutionSize& size) {
  const ConvolutionAxis &rows = size.rows, &columns = size.columns;
  for (int64_t plane = 0; plane < size.images * size.filters; ++plane) {
    const float* from = input + plane * rows.convolved() * columns.convolved();
    for (int64_t y = 0; y < rows.outputs(); ++y) {
      for (int64_t x = 0; x < columns.outputs(); ++x) {
        const float* corner =
            from + y * rows.pool_stride * columns.convolved() + x * columns.pool_stride;
        float maximum = *corner;
        for (int64_t i = 0; i < rows.pool_kernel * columns.pool_kernel; ++i) {
          const float value =
              corner[i / columns.pool_kernel * columns.convolved() + i % columns.pool_kernel];
          if (std::isnan(value) || value > maximum) maximum = value;
        }
        *out++ = maximum;
      }
    }
  }
}

}  // namespace

void add(const float* a, const float* b, float* out, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) out[i] = a[i] + b[i];
}

void product(const float* a, const float* b, float* out, const MatmulSize& size) {
  std::vector<double> sums(static_cast<size_t>(size.columns));
  for (int64_t row = 0; row < size.rows; ++row) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int64_t k = 0; k < size.depth; ++k) {
      const double factor = a[row * size.depth + k];
      const float* line = b + k * size.columns;
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += factor * line[i];
    }
    for (const double sum : sums) *out++ = static_cast<float>(sum);
  }
}

void add_bias(const float* x, const float* bias, float* out, int64_t rows, int64_t features,
              const std::string& function) {
  for (int64_t row = 0; row < rows; ++row) {
    add(x + row * features, bias, out + row * features, features);
  }
  apply_function(out, rows, features, function);
}

void convolve(const float* input, const float* weight, const float* bias, float* out,
              const ConvolutionSize& size, const std::string& function) {
  const ConvolutionAxis &rows = size.rows, &columns = size.columns;
  const int64_t elements = size.images * size.filters * rows.convolved() * columns.convolved();
  std::vector<float> unpooled(static_cast<size_t>(elements));
  convolve_only(input, weight, bias, unpooled.data(), size);
  apply_function(unpooled.data(), 1, elements, function);
  pool_maximum(unpooled.data(), out, size);
}

}  // namespace neuron_sim::reference
